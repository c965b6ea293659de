-- One table per dataset lives here, made and altered by src/records/table.ts: Prisma compares only "public".
CREATE SCHEMA "records";

-- Look-up lists for the loader's checks: '-01-01' to '-12-31', and '00:00:' to '23:59:'. The planner takes each for one constant and
-- hashes it, which is several times faster than the regular expression that says the same: Postgres builds that up anew for every
-- value. The lists are written into the functions, since working them out would cost a millisecond for each field of each statement.
DO $migration$
BEGIN
  EXECUTE format(
    'CREATE FUNCTION records.days_of_year() RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT %L::text[] $$',
    (SELECT array_agg(to_char(day, '-MM-DD') ORDER BY day) FROM generate_series(timestamp '2000-01-01', timestamp '2000-12-31', interval '1 day') AS day)
  );
  EXECUTE format(
    'CREATE FUNCTION records.minutes_of_day() RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT %L::text[] $$',
    (SELECT array_agg(to_char(minute, 'HH24:MI:') ORDER BY minute) FROM generate_series(timestamp '2000-01-01', timestamp '2000-01-01 23:59', interval '1 minute') AS minute)
  );
END
$migration$;
