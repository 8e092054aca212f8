-- older programs: must stop

-- The functions and triggers, in the order of the rooms: what must hold whoever writes, the service, the command line, a cascade, plain SQL.
--
-- The functions run with the rights of the owner of the tables. So the names in them must be found in this schema only, and never
-- among the temporary tables of the caller.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- ── Users: names and addresses

-- Guards former usernames: only the former owner gets one again. It runs after the row was written, so that it also sees a
-- reservation for which the write had to wait.
create function refuse_reserved_username() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  if exists (select 1 from reserved_usernames where username_key = new.username_key and user_id <> new.id) then
    raise unique_violation using message = 'the username is reserved for its former owner', constraint = 'users_username_taken';
  end if;
  return null;
end $$;

create trigger username_taken after insert on users
for each row execute function refuse_reserved_username();

create trigger username_changed after update of username_key on users
for each row when (old.username_key <> new.username_key) execute function refuse_reserved_username();

-- Guards former addresses: as long as an undo link can put one back, a write for another user writes no row.
create function refuse_reserved_email() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  if exists (select 1 from undos where email_key = new.email_key and user_id <> new.id) then
    return null;
  end if;
  return new;
end $$;

create trigger new_user_email_reserved before insert on users
for each row execute function refuse_reserved_email();

create trigger user_email_reserved before update of email_key on users
for each row when (old.email_key is distinct from new.email_key) execute function refuse_reserved_email();

-- Guards former addresses too: a write that had to wait until the address became free was checked before it was reserved.
create function refuse_email_reserved_meanwhile() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  if exists (select 1 from undos where email_key = new.email_key and user_id <> new.id) then
    raise unique_violation using message = 'the address is reserved for its former owner', constraint = 'users_email_taken';
  end if;
  return null;
end $$;

create trigger new_user_email_still_free after insert on users
for each row execute function refuse_email_reserved_meanwhile();

create trigger user_email_still_free after update of email_key on users
for each row when (old.email_key is distinct from new.email_key) execute function refuse_email_reserved_meanwhile();

-- ── Users: what a deletion leaves

-- Everything that refers to a user goes with the row. These functions are about the rest.

-- Registrations for the addresses of a deleted account. One that waits may be of a stranger, who must not see the deletion: it
-- keeps its answers until it expires, and neither a name nor an address nor what was written into the form. It can never be confirmed.
create function forget_registrations(keys text[]) returns void
language sql security definer set search_path from current as $$
  delete from pending_registrations where email_key = any(keys) and confirmed_at is not null;
  update pending_registrations set email = '', username = '', name = null, invitation_hash = null, older_token_hashes = '{}',
    fields = '{}', terms_version = null,
    token_hash = decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'),
    email_key = 'sha256 ' || encode(sha256(convert_to(email_key, 'UTF8')), 'hex'),
    username_key = 'sha256 ' || encode(sha256(convert_to(username_key, 'UTF8')), 'hex')
  where email_key = any(keys);
$$;

-- Guards the privacy of a deleted user: events stay and can be counted, without personal data, also without what administrators wrote
-- about the user and what the user did as an administrator; registrations, invitations, mails and sign-ins that were begun when the
-- address had no account have no reference, and go.
create function forget_user() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  -- What an operator did on the command line has the operator's name there.
  update events set user_id = null, username = null, session_id = null, request_id = null, actor_reason = null,
    ip = case when ip = 'command line' then ip else '' end,
    user_agent = case when ip = 'command line' then user_agent else '' end
  where user_id = old.id;
  update events set actor_id = null, actor_name = null, request_id = null, ip = '', user_agent = '' where actor_id = old.id;
  perform forget_registrations(array[old.email_key]);
  delete from pending_registrations where confirmed_at is not null and (username_key = old.username_key
    or username_key in (select username_key from reserved_usernames where user_id = old.id));
  delete from invitations where email_key = old.email_key;
  delete from mail_sign_ins where email_key = old.email_key;
  delete from outgoing_mail where recipient = old.email_key;
  return old;
end $$;

create trigger user_forgotten before delete on users
for each row execute function forget_user();

-- Guards the privacy of a deleted user at other addresses than the present one. Former addresses are reserved for this user, so
-- all that is there goes. Another address to which the user let us send a mail may belong to anyone: the mail is not sent any
-- more, and its row stays without the address, because it counts for the limit of mails to that address.
create function forget_mails_of_user() returns trigger
language plpgsql security definer set search_path from current as $$
declare
  former text[] := array(select email_key from undos where user_id = old.id);
begin
  perform forget_registrations(former);
  delete from invitations where email_key = any(former);
  delete from outgoing_mail where recipient = any(former);
  update outgoing_mail set user_id = null, recipient = null, content = null, next_attempt_at = null,
    recipient_key = 'sha256 ' || encode(sha256(convert_to(recipient_key, 'UTF8')), 'hex')
  where user_id = old.id;
  return old;
end $$;

create trigger user_mails_forgotten before delete on users
for each row execute function forget_mails_of_user();

-- ── Sessions

-- Guards the groups of a session: every writer of a new one gives it those of its user, whose row it holds.
create function copy_groups_to_session() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  new.groups := coalesce((select groups from users where id = new.user_id), '{}');
  return new;
end $$;

create trigger session_gets_groups before insert on sessions
for each row execute function copy_groups_to_session();

-- What each account can prove a second factor with, and the answers to the questions about it. `asked`: a first proof needs it as a second
-- step. `counts`: it is enough for an account. `trusts_browser`: a trusted device stands for it. `host`: browsers offer it at this host only.
-- Recovery codes prove nothing without an app. Every statement asks this view, and `contract/second-factors` has the same answers.
create view second_factors as
select user_id, 'totp' as method, null::text as host, true as asked, true as counts, true as trusts_browser
from totp_secrets
union all
select user_id, 'recovery_code', null, false, false, false
from totp_secrets as t where exists (select 1 from recovery_codes as c where c.user_id = t.user_id)
union all
select user_id, 'passkey', relying_party, false, true, false
from passkeys;

-- Guards two-step sign-in: a session begins with a second proof if a factor of the account is asked for, or if every account needs one.
-- A trusted device stands for the code of an app, so it counts only while there is one. The insert holds a lock on the user, and this
-- function sees what was committed before: a factor that is added during a sign-in is not missed.
create function refuse_session_with_one_factor() returns trigger
language plpgsql security definer set search_path from current as $$
declare
  is_asked boolean;
  may_be_trusted boolean;
begin
  if new.methods && array['otp', 'rec', 'passkey'] then
    return new;
  end if;
  select coalesce(bool_or(asked), false), coalesce(bool_or(trusts_browser), false) into is_asked, may_be_trusted
  from second_factors where user_id = new.user_id;
  if (is_asked or new.second_factor_required)
    and not (may_be_trusted
      and exists (select 1 from trusted_devices where id = new.trusted_device and user_id = new.user_id)) then
    return null;
  end if;
  return new;
end $$;

create trigger session_needs_second_factor before insert on sessions
for each row execute function refuse_session_with_one_factor();

-- Part of the condition of every statement that ends sessions, so that the trigger below knows why. It is always true, and holds for
-- the rest of the transaction.
create function sessions_end_because(reason text) returns boolean
language sql volatile as $$
  select set_config('latchkey.sessions_end_because', reason, true) is not null
$$;

-- Guards the list of ended sessions: no way to end one is missed.
create function note_ended_session() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  -- In a trigger for delete, `new` is null: all tokens are refused.
  insert into ended_sessions (sid, min_generation, reason) values (old.id, new.oldest_generation,
    case tg_op when 'DELETE' then nullif(current_setting('latchkey.sessions_end_because', true), '') end)
  on conflict (xact, sid) do update set min_generation = excluded.min_generation, reason = excluded.reason;
  return null;
end $$;

create trigger session_ended after delete on sessions
for each row when (old.expires_at > now()) execute function note_ended_session();

-- A change of the password in a session refuses the tokens before it. A rotation does not name the column, and costs nothing.
create trigger session_tokens_replaced after update of oldest_generation on sessions
for each row when (new.oldest_generation > old.oldest_generation) execute function note_ended_session();

-- Guards the list of ended sessions against `truncate`, which deletes no single row.
create function note_all_sessions_ended() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  insert into ended_sessions (sid) select id from sessions where expires_at > now()
  on conflict (xact, sid) do update set min_generation = null;
  return null;
end $$;

create trigger all_sessions_ended before truncate on sessions
for each statement execute function note_all_sessions_ended();

-- ── Personal tokens

-- Guards the list of ended sessions: no end of a personal token is missed, and no change of what it says about its user.
create function note_ended_token() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  -- In a trigger for delete, `new` is null: the token has ended.
  insert into ended_sessions (sid, min_generation) values (old.id, new.generation)
  on conflict (xact, sid) do update set min_generation = excluded.min_generation;
  return null;
end $$;

create trigger personal_token_ended after delete on personal_tokens
for each row when (old.expires_at > now()) execute function note_ended_token();

create trigger personal_token_changed after update of generation on personal_tokens
for each row execute function note_ended_token();

-- The same for `truncate`, which deletes no single row.
create function note_all_tokens_ended() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  insert into ended_sessions (sid) select id from personal_tokens where expires_at > now()
  on conflict (xact, sid) do update set min_generation = null;
  return null;
end $$;

create trigger all_personal_tokens_ended before truncate on personal_tokens
for each statement execute function note_all_tokens_ended();

-- Every instance remembers who the user of a token is. What it remembers from before a change is refused.
create function renew_tokens_of_user() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  update personal_tokens set generation = generation + 1 where user_id = new.id;
  return null;
end $$;

create trigger user_of_tokens_changed after update on users
for each row when (
  (old.email, old.username, old.name, old.groups, old.disabled_at is null) is distinct from
  (new.email, new.username, new.name, new.groups, new.disabled_at is null)
) execute function renew_tokens_of_user();

-- ── Webhooks: no way to change a user is missed

create function are_webhooks_wanted() returns boolean
language sql stable security definer set search_path from current as $$
  select exists (select 1 from webhooks_wanted where until > now())
$$;

-- Called by the triggers only, with their rights. In this language its plan is kept for the next row. The sender leaves out the fields
-- that have left PROFILE_FIELDS_FILE.
create function queue_webhook_of_user(about uuid, webhook_type text) returns void
language plpgsql as $$
begin
  insert into outgoing_webhooks (type, user_id, data)
  select webhook_type, u.id, jsonb_build_object('user', jsonb_build_object(
    'id', u.id, 'email', u.email, 'username', u.username, 'name', u.name, 'provider', u.provider,
    'providers', array(select i.provider from identities as i where i.user_id = u.id order by i.provider),
    'groups', u.groups,
    'fields', u.fields,
    'disabled', u.disabled_at is not null,
    'createdAt', to_char(u.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
  from users as u where u.id = about
  on conflict (user_id, xact) where type in ('user.created', 'user.updated') do update set data = excluded.data;
end $$;

-- Tells applications of every new user.
create function note_created_user() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  perform queue_webhook_of_user(new.id, 'user.created');
  return null;
end $$;

create trigger user_created after insert on users
for each row when (are_webhooks_wanted()) execute function note_created_user();

-- Tells applications of every change that a webhook shows. The hash of a password is none of it: it is also replaced without a
-- change of the password.
create function note_updated_user() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  perform queue_webhook_of_user(new.id, 'user.updated');
  return null;
end $$;

create trigger user_updated after update on users
for each row when (
  (old.email, old.username, old.name, old.groups, old.fields, old.disabled_at is null) is distinct from
  (new.email, new.username, new.name, new.groups, new.fields, new.disabled_at is null) and are_webhooks_wanted()
) execute function note_updated_user();

-- Tells applications of linked and unlinked providers. When the user is deleted, the identities go with it: then there is no user
-- any more, and no row is written.
create function note_changed_identity() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  perform queue_webhook_of_user(coalesce(new.user_id, old.user_id), 'user.updated');
  return null;
end $$;

create trigger identity_changed after insert or delete on identities
for each row when (are_webhooks_wanted()) execute function note_changed_identity();

-- Tells applications of every deleted user, and nothing more of that user.
create function note_deleted_user() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  delete from outgoing_webhooks where user_id = old.id and type <> 'user.deleted';
  if are_webhooks_wanted() then
    insert into outgoing_webhooks (type, user_id, data)
    values ('user.deleted', old.id, jsonb_build_object('user', jsonb_build_object('id', old.id)));
  end if;
  return null;
end $$;

create trigger user_deleted after delete on users
for each row execute function note_deleted_user();

-- Tells applications of every session that begins.
create function note_sign_in() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  insert into outgoing_webhooks (type, user_id, data)
  values ('user.signed_in', new.user_id, jsonb_build_object(
    'user', jsonb_build_object('id', new.user_id),
    'session', jsonb_build_object('id', new.id, 'methods', new.methods, 'ip', new.ip, 'userAgent', new.user_agent)));
  return null;
end $$;

create trigger user_signed_in after insert on sessions
for each row when (are_webhooks_wanted()) execute function note_sign_in();

-- ── Events: no way to change them

-- Guards the events: what happened stays as it was written. Only the deletion of a user empties some (inside a trigger), a name that
-- no longer belongs to anyone is forgotten, the log takes note of those of commands, and the purge deletes them after 90 days.
create function refuse_changed_event() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  if tg_op = 'DELETE' then
    if old.created_at < now() - interval '90 days' then
      return old;
    end if;
  elsif tg_op = 'UPDATE' and (new.name_mark is null or new.name_mark is not distinct from old.name_mark)
    and to_jsonb(new) - array['name_mark', 'log_pending'] = to_jsonb(old) - array['name_mark', 'log_pending'] then
    return new;
  end if;
  raise insufficient_privilege using message = 'events cannot be changed, and are deleted after 90 days';
end $$;

create trigger event_changed before update or delete on events
for each row when (pg_trigger_depth() = 0) execute function refuse_changed_event();

create trigger events_emptied before truncate on events
for each statement execute function refuse_changed_event();

-- ── Registration

-- Guards the first start: with the first user, whoever creates it, all its links end. A setup takes the lock alone. It is taken before
-- the insert: a setup that has the lock waits for no row of this transaction.
create function end_setup() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('first user', 0));
  delete from setup_tokens;
  return null;
end $$;

create trigger first_user_ends_setup before insert on users
for each statement execute function end_setup();

-- ── OpenID Connect

-- Every instance holds the applications that proxies protect and the stored settings in memory, and looks at this number once a second.
create function note_changed_applications() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  update application_changes set number = number + 1;
  return null;
end $$;

create trigger applications_changed after insert or update or delete or truncate on applications
for each statement execute function note_changed_applications();

create trigger settings_changed after insert or update or delete or truncate on stored_settings
for each statement execute function note_changed_applications();

-- Guards the ending of a session: it ends at every application too, in the same transaction.
create function end_applications_of_session() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  delete from application_sessions where sid = old.id;
  return null;
end $$;

create trigger session_ended_at_applications after delete on sessions
for each row execute function end_applications_of_session();

-- The same for `truncate`, which deletes no single row.
create function end_applications_of_all_sessions() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  delete from application_sessions;
  return null;
end $$;

create trigger all_sessions_ended_at_applications before truncate on sessions
for each statement execute function end_applications_of_all_sessions();

-- Guards the list of ended sessions: the cookie of a host that ends alone is refused there too. Where its session has ended, that is on
-- the list already.
create function note_ended_host_session() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  insert into ended_sessions (sid) select old.id where exists (select 1 from sessions where id = old.sid)
  on conflict (xact, sid) do nothing;
  return null;
end $$;

create trigger host_session_ended after delete on host_sessions
for each row when (old.expires_at > now()) execute function note_ended_host_session();

-- Guards back-channel logout: no way to end the use of an application is missed. An application that is deleted is not told.
create function queue_logout_notice() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  insert into logout_notices (application_id, sid, user_id)
  select id, old.sid, old.user_id from applications where id = old.application_id and backchannel_logout is not null;
  return null;
end $$;

create trigger application_session_ended after delete on application_sessions
for each row execute function queue_logout_notice();

-- Guards the sessions of devices: one has no other use than its application, so both end together.
create function end_session_of_device() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  delete from sessions where id = old.sid and application_id is not null;
  return null;
end $$;

create trigger device_session_ended after delete on application_sessions
for each row execute function end_session_of_device();

-- ── Counters

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
