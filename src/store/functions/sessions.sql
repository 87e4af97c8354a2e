-- People who open the dashboard exchange their key for a session once, so that no page keeps a key; or they sign in through a provider,
-- and have a session without a key.

-- Opens a session, and tidies up: those that have expired go, and of one key or person the newest hundred stay.
create or replace function holdfast.open_session(
  p_hash bytea, p_key integer, p_lives_ms double precision, p_person text, p_roles text[], p_actor holdfast.actor
) returns timestamptz
language plpgsql as $$
declare
  v_expires timestamptz := holdfast.now() + p_lives_ms * interval '1 millisecond';
begin
  delete from holdfast.sessions where hash in (
    select s.hash from holdfast.sessions as s where s.expires_at <= holdfast.now() order by s.hash for update skip locked);
  delete from holdfast.sessions where hash in (
    select s.hash from holdfast.sessions as s where s.key_id is not distinct from p_key and s.person is not distinct from p_person
    order by s.created_at desc, s.hash offset 99 for update skip locked);
  insert into holdfast.sessions (hash, key_id, person, roles, expires_at) values (p_hash, p_key, p_person, p_roles, v_expires);
  perform holdfast.audit('open_session', coalesce(p_key::text, p_person), null,
                         jsonb_strip_nulls(jsonb_build_object('expires_at', v_expires, 'roles', to_jsonb(p_roles))), p_actor);
  return v_expires;
end $$;

-- Ends a session. False: there is none.
create or replace function holdfast.end_session(p_hash bytea, p_actor holdfast.actor) returns boolean language plpgsql as $$
declare
  v_ended holdfast.sessions;
begin
  delete from holdfast.sessions where hash = p_hash returning * into v_ended;
  if not found then
    return false;
  end if;
  perform holdfast.audit('end_session', coalesce(v_ended.key_id::text, v_ended.person), null, null, p_actor);
  return true;
end $$;

-- Ends every session of a person, whoever opened it. Answers with how many there were.
create or replace function holdfast.end_sessions_of(p_person text, p_actor holdfast.actor) returns integer language plpgsql as $$
declare
  v_ended integer;
begin
  delete from holdfast.sessions where hash in (
    select s.hash from holdfast.sessions as s where s.person = p_person order by s.hash for update);
  get diagnostics v_ended = row_count;
  perform holdfast.audit('end_sessions', p_person, null, jsonb_build_object('ended', v_ended), p_actor);
  return v_ended;
end $$;
