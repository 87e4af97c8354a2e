-- People who open the dashboard exchange their key for a session once, so that no page keeps a key.

-- Opens a session, and tidies up: those that have expired go, and of one key the newest hundred stay.
create or replace function holdfast.open_session(p_hash bytea, p_key integer, p_lives_ms double precision, p_actor holdfast.actor) returns timestamptz
language plpgsql as $$
declare
  v_expires timestamptz := holdfast.now() + p_lives_ms * interval '1 millisecond';
begin
  delete from holdfast.sessions where hash in (
    select s.hash from holdfast.sessions as s where s.expires_at <= holdfast.now() order by s.hash for update skip locked);
  delete from holdfast.sessions where hash in (
    select s.hash from holdfast.sessions as s where s.key_id is not distinct from p_key
    order by s.created_at desc, s.hash offset 99 for update skip locked);
  insert into holdfast.sessions (hash, key_id, expires_at) values (p_hash, p_key, v_expires);
  perform holdfast.audit('open_session', p_key::text, null, jsonb_build_object('expires_at', v_expires), p_actor);
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
  perform holdfast.audit('end_session', v_ended.key_id::text, null, null, p_actor);
  return true;
end $$;
