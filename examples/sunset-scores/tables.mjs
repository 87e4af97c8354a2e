// The tables of the application, and four places.
export const tables = `
  create table place (lat float, lon float, name text not null, primary key (lat, lon));
  create table forecast (lat float, lon float, date date, forecast jsonb not null, primary key (lat, lon, date));
  create table score (lat float, lon float, date date, sunrise timestamptz, sunset timestamptz, score int not null, primary key (lat, lon, date));
  insert into place values (52.52, 13.4, 'Berlin'), (-33.45, -70.67, 'Santiago'), (35.68, 139.69, 'Tokyo'), (69.65, 18.96, 'Tromsø')`
