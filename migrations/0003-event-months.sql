-- older programs: must stop

-- The parts of `events`, by the time with which their ids begin: a table for each month, one for what came before them
-- (`events_earlier`) and one for the rest (`events_other`).

select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- The smallest id that an event of this moment (UTC) can have: an id begins with the milliseconds since 1970.
create function first_event_id(moment timestamp) returns uuid
language sql immutable strict as $$
  select rpad(lpad(to_hex(floor(extract(epoch from moment) * 1000)::bigint), 12, '0'), 32, '0')::uuid
$$;

-- The part for what belongs to no other: ids of a clock that was wrong, or of a month that nobody has made.
create table events_other partition of events default;

-- The part for what came before the months. The first month is the one after next: until then there is nothing to make.
do $$
begin
  execute format('create table events_earlier partition of events for values from (minvalue) to (%L)',
    first_event_id(date_trunc('month', now() at time zone 'utc') + interval '2 months'));
end $$;

-- A trigger for `truncate` is about one table only, so each part has its own.
create trigger events_emptied before truncate on events_earlier
for each statement execute function refuse_changed_event();
create trigger events_emptied before truncate on events_other
for each statement execute function refuse_changed_event();

-- The parts that have an end: the first id of each, and the first one after it.
create function event_months() returns table (part regclass, first_id uuid, end_id uuid)
language sql stable set search_path from current as $$
  select c.oid::regclass,
    coalesce(substring(bounds from 'FROM \(''([0-9a-f-]+)''')::uuid, '00000000-0000-0000-0000-000000000000'),
    substring(bounds from 'TO \(''([0-9a-f-]+)''')::uuid
  from pg_inherits as i
  join pg_class as c on c.oid = i.inhrelid
  cross join lateral pg_get_expr(c.relpartbound, c.oid) as bounds
  where i.inhparent = 'events'::regclass and bounds <> 'DEFAULT'
$$;

-- Makes the parts of this month and of the next ones, unless they are there, and returns how many it has made. A month that has rows in
-- `events_other` stays there. To make one, all that is there is read while others wait: if that is much, the service makes none, and
-- an operator may, with more months `ahead`. A lock that is not free at once is left alone, because everything else would wait
-- behind it: the service calls again.
create function make_event_months(ahead integer default 1) returns integer
language plpgsql security definer set search_path from current set lock_timeout = '100ms' as $$
declare
  this_month timestamp := date_trunc('month', now() at time zone 'utc');
  month timestamp;
  from_id uuid;
  to_id uuid;
  name text;
  made integer := 0;
begin
  -- Several instances may call at once.
  if not pg_try_advisory_xact_lock(7210452) then
    return 0;
  end if;
  for months in 0 .. least(ahead, 6) loop
    month := this_month + make_interval(months => months);
    from_id := first_event_id(month);
    to_id := first_event_id(month + interval '1 month');
    name := 'events_' || to_char(month, 'YYYY_MM');
    continue when exists (select from event_months() where first_id < to_id and end_id > from_id)
      or exists (select from events_other where id >= from_id and id < to_id)
      or ahead = 1 and pg_relation_size('events_other') > 256 * 1024 * 1024
      or to_regclass(name) is not null;
    execute format('create table %I (like events including all)', name);
    execute format('create trigger events_emptied before truncate on %I
      for each statement execute function refuse_changed_event()', name);
    execute format('alter table events attach partition %I for values from (%L) to (%L)', name, from_id, to_id);
    made := made + 1;
  end loop;
  return made;
exception when lock_not_available then
  return 0;
end $$;

-- Drops the parts that are over for 90 days, as the purge deletes rows: by the database's clock, and only what is also before this id,
-- which is that of the caller's clock. Returns how many it has dropped.
create function drop_event_months(before uuid) returns integer
language plpgsql security definer set search_path from current set lock_timeout = '100ms' as $$
declare
  oldest uuid := least(before, first_event_id((now() - interval '90 days') at time zone 'utc'));
  over regclass;
  dropped integer := 0;
begin
  for over in select part from event_months() where end_id <= oldest loop
    execute format('drop table %s', over);
    dropped := dropped + 1;
  end loop;
  return dropped;
exception when lock_not_available then
  return 0;
end $$;
