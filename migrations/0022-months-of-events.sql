-- older programs: can run from 0002

-- `events` in parts, by the time with which their ids begin: a table for each month, one for what came before them (`events_earlier`,
-- the table that was `events`) and one for the rest (`events_other`). So the primary key stays the id.

select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Reads every row, while others read and write them. With it the rest takes no time, however large the table is.
alter table events validate constraint events_end;

-- Others lock these two in both orders: a change of a user writes its event afterwards, and an event looks for its user. So this tries
-- again by itself, without reading all rows once more.
do $$
declare
  give_up timestamptz := clock_timestamp() + interval '10 seconds';
begin
  loop
    begin
      lock table users, events in access exclusive mode;
      exit;
    exception when lock_not_available then
      if clock_timestamp() > give_up then
        raise;
      end if;
    end;
    perform pg_sleep(0.05);
  end loop;
end $$;

alter table events rename to events_earlier;
alter index events_pkey rename to events_earlier_pkey;
alter index events_of_user rename to events_earlier_of_user;
alter index events_of_name rename to events_earlier_of_name;
alter index events_of_limiters rename to events_earlier_of_limiters;
alter index events_log_pending rename to events_earlier_log_pending;
alter index events_of_actor rename to events_earlier_of_actor;
-- The new table has it for all of its parts. `events_emptied` is about one table only, so each part has its own.
drop trigger event_changed on events_earlier;

create table events (like events_earlier including defaults including constraints) partition by range (id);
alter table events
  drop constraint events_end,
  add primary key (id),
  add constraint events_user_id_fkey foreign key (user_id) references users on delete cascade,
  add constraint events_actor_id_fkey foreign key (actor_id) references users on delete set null;
create index events_of_user on events (user_id, id desc);
create index events_of_name on events (name_mark, id desc) where name_mark is not null;
create index events_of_limiters on events (ip, id desc) where kind = 'rate_limited';
create index events_log_pending on events (id) where log_pending;
create index events_of_actor on events (actor_id, id desc) where actor_id is not null;

create trigger event_changed before update or delete on events
for each row when (pg_trigger_depth() = 0) execute function refuse_changed_event();
create trigger events_emptied before truncate on events
for each statement execute function refuse_changed_event();
create trigger events_emptied before truncate on events_other
for each statement execute function refuse_changed_event();

do $$
declare
  after_next text;
  given record;
begin
  select substring(pg_get_constraintdef(oid) from '''([0-9a-f-]+)''') into strict after_next
  from pg_constraint where conrelid = 'events_earlier'::regclass and conname = 'events_end';
  execute format('alter table events attach partition events_earlier for values from (minvalue) to (%L)', after_next);
  alter table events attach partition events_other default;
  alter table events_earlier drop constraint events_end;

  -- The rights of the service are at the new table at once. At its parts it needs none.
  for given in
    select g.privilege_type as may, '' as columns, g.grantee::regrole as role
    from pg_class as c, aclexplode(c.relacl) as g
    where c.oid = 'events_earlier'::regclass and g.grantee not in (0, c.relowner)
    union all
    select g.privilege_type, format('(%I)', a.attname), g.grantee::regrole
    from pg_attribute as a, aclexplode(a.attacl) as g
    where a.attrelid = 'events_earlier'::regclass and g.grantee <> 0
  loop
    execute format('grant %s %s on events to %s', given.may, given.columns, given.role);
    execute format('revoke %s %s on events_earlier from %s', given.may, given.columns, given.role);
  end loop;
end $$;

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
