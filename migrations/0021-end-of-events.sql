-- older programs: can run from 0002

-- `events` becomes a table of months (0022). The rows that are there stay where they are, and the table that has them becomes the part
-- for all that came before the month after next. This constraint says so. It judges new rows at once; 0022 reads the old ones.

select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- The smallest id that an event of this moment (UTC) can have: an id begins with the milliseconds since 1970.
create function first_event_id(moment timestamp) returns uuid
language sql immutable strict as $$
  select rpad(lpad(to_hex(floor(extract(epoch from moment) * 1000)::bigint), 12, '0'), 32, '0')::uuid
$$;

-- The part for what belongs to no other: ids of a clock that was wrong, or of a month that nobody has made.
create table events_other (like events including all);

do $$
declare
  this_month timestamp := date_trunc('month', now() at time zone 'utc');
  after_next uuid := first_event_id(this_month + interval '2 months');
begin
  if exists (select from events where id >= after_next) then
    alter table events disable trigger event_changed;
    with later as (delete from events where id >= after_next returning *)
    insert into events_other select * from later;
    alter table events enable trigger event_changed;
  end if;
  execute format('alter table events add constraint events_end check (id < %L) not valid', after_next);
end $$;
