-- older programs: can run from 0002

-- The counters of the limits, where REDIS_URL does not name a Redis for them. It is an ordinary table: an unlogged one would be empty after
-- every crash, which would make a crash a way around every limit. What is counted is not worth a wait for the disk, so at most the last
-- second is lost.
create table counters (
  key text collate "C" primary key,
  used bigint not null,
  -- The end of the window, in milliseconds since 1970 by the clock of the database. It is also the id of the window.
  ends bigint not null
) with (fillfactor = 70);
-- `used` has no index and changes all the time, so a new version of a row fits beside the old one and needs no entry in an index.
create index counters_ends on counters (ends);

-- Whoever writes counters calls this first. All that one request counts is locked in one order, so no two requests wait for each other.
-- A lock on the row would not do: a counter that begins has none.
create function lock_counters(names text[]) returns void
language plpgsql as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock(number)
    from (select hashtextextended(name, 7210454) as number from unnest(names) as name order by number) as numbers;
end $$;

create function counters_now(clock_offset bigint) returns bigint
language sql volatile as $$
  select floor(extract(epoch from clock_timestamp()) * 1000)::bigint + clock_offset
$$;

-- Counts one attempt under each name, in the given order, until a limit refuses: what follows is not counted, and what refuses writes
-- nothing. Without `may_begin` it also stops before a name that has no row. `clock_offset` moves the clock, in tests.
create function count_attempts(names text[], maxima bigint[], windows bigint[], may_begin boolean, clock_offset bigint)
returns table (granted boolean, remaining bigint, resets_in bigint, window_end bigint)
language plpgsql as $$
declare
  now_ms bigint;
  counter counters;
begin
  -- Whoever goes on at a full counter waits for no lock.
  select * into counter from counters where key = names[1];
  now_ms := counters_now(clock_offset);
  if counter.ends > now_ms and counter.used >= maxima[1] then
    granted := false;
    remaining := 0;
    window_end := least(counter.ends, now_ms + windows[1]);
    resets_in := window_end - now_ms;
    return next;
    return;
  end if;

  perform lock_counters(names);
  for place in 1 .. cardinality(names) loop
    select * into counter from counters where key = names[place];
    exit when not found and not may_begin;
    now_ms := counters_now(clock_offset);
    if counter.ends > now_ms then
      -- A clock that was set back, or is another one after a failover, must not make a window longer than it is meant to be.
      window_end := least(counter.ends, now_ms + windows[place]);
    else
      counter.used := 0;
      window_end := now_ms + windows[place];
    end if;
    granted := counter.used < maxima[place];
    if granted then
      insert into counters (key, used, ends) values (names[place], counter.used + 1, window_end)
      on conflict (key) do update set used = excluded.used, ends = excluded.ends;
    end if;
    remaining := greatest(0, maxima[place] - counter.used - 1);
    resets_in := window_end - now_ms;
    return next;
    exit when not granted;
  end loop;
end $$;

-- Gives attempts back whose windows are still open. It makes no row, and no count is below zero.
create function refund_attempts(names text[], window_ends bigint[]) returns void
language plpgsql as $$
begin
  perform lock_counters(names);
  for place in 1 .. cardinality(names) loop
    update counters set used = used - 1 where key = names[place] and ends = window_ends[place] and used > 0;
  end loop;
end $$;

-- After an outage, adds what a process has counted by itself. If a window that the process knows is lost, it is restored from what the
-- process knows. Several processes may do this one after another. Returns for each name whether it was added: without `may_begin` not if
-- it has no row.
create function carry_counters(
  names text[], maxima bigint[], known bigint[], counted bigint[], times_left bigint[], known_ends text[],
  may_begin boolean, clock_offset bigint
) returns table (carried boolean)
language plpgsql as $$
declare
  now_ms bigint;
  counter counters;
  used_now bigint;
  window_end bigint;
begin
  perform lock_counters(names);
  now_ms := counters_now(clock_offset);
  for place in 1 .. cardinality(names) loop
    select * into counter from counters where key = names[place];
    carried := found or may_begin;
    if carried then
      used_now := counted[place];
      window_end := now_ms + times_left[place];
      if counter.ends > now_ms then
        used_now := counter.used + counted[place];
        window_end := counter.ends;
      end if;
      if counter.ends::text is distinct from known_ends[place] then
        used_now := greatest(used_now, known[place]);
      end if;
      insert into counters (key, used, ends) values (names[place], least(used_now, maxima[place]), window_end)
      on conflict (key) do update set used = excluded.used, ends = excluded.ends;
    end if;
    return next;
  end loop;
end $$;

-- Removes counters, and returns those whose windows were open.
create function forget_counters(names text[], clock_offset bigint) returns setof counters
language plpgsql as $$
begin
  perform lock_counters(names);
  return query with forgotten as (delete from counters where key = any(names) returning *)
    select * from forgotten where ends > counters_now(clock_offset);
end $$;
