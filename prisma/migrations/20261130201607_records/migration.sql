-- One table per dataset lives here, made and altered by src/records/table.ts: Prisma compares only "public".
CREATE SCHEMA "records";

-- Look-up lists for the loader's checks. Immutable, so the planner takes each as one constant and hashes it: a list like these
-- is three to five times faster than the regular expression that says the same, which Postgres builds up anew for every value.
CREATE FUNCTION "records"."days_of_year"() RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT array_agg(to_char(day, '-MM-DD') ORDER BY day) FROM generate_series(timestamp '2000-01-01', timestamp '2000-12-31', interval '1 day') AS day
$$;

CREATE FUNCTION "records"."minutes_of_day"() RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT array_agg(to_char(minute, 'HH24:MI:') ORDER BY minute) FROM generate_series(timestamp '2000-01-01', timestamp '2000-01-01 23:59', interval '1 minute') AS minute
$$;

CREATE FUNCTION "records"."leap_days"() RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT array_agg(to_char(year, 'FM0000') || '-02-29' ORDER BY year) FROM generate_series(4, 9999, 4) AS year WHERE year % 100 <> 0 OR year % 400 = 0
$$;
