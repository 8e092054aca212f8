-- older programs: must stop

-- What must hold whoever writes: the service, the command line, a cascade, plain SQL.
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
-- keeps its answers until it expires, and neither a name nor an address. It can never be confirmed.
create function forget_registrations(keys text[]) returns void
language sql security definer set search_path from current as $$
  delete from pending_registrations where email_key = any(keys) and confirmed_at is not null;
  update pending_registrations set email = '', username = '', name = null, invitation_hash = null, older_token_hashes = '{}',
    token_hash = decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'),
    email_key = 'sha256 ' || encode(sha256(convert_to(email_key, 'UTF8')), 'hex'),
    username_key = 'sha256 ' || encode(sha256(convert_to(username_key, 'UTF8')), 'hex')
  where email_key = any(keys);
$$;

-- Guards the privacy of a deleted user: events stay and can be counted, without personal data; registrations, invitations and
-- mails have no reference, and go.
create function forget_user() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  -- What an operator did on the command line has the operator's name there.
  update events set user_id = null, username = null, session_id = null, request_id = null,
    ip = case when ip = 'command line' then ip else '' end,
    user_agent = case when ip = 'command line' then user_agent else '' end
  where user_id = old.id;
  perform forget_registrations(array[old.email_key]);
  delete from pending_registrations where confirmed_at is not null and (username_key = old.username_key
    or username_key in (select username_key from reserved_usernames where user_id = old.id));
  delete from invitations where email_key = old.email_key;
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

-- Guards two-step sign-in: a session begins with a second proof if the account has TOTP, or if every account needs one. A trusted
-- device stands for the code of an app, so it counts only while there is one. The insert holds a lock on the user, and this
-- function sees what was committed before: a factor that is added during a sign-in is not missed.
create function refuse_session_with_one_factor() returns trigger
language plpgsql security definer set search_path from current as $$
declare
  has_totp boolean := exists (select 1 from totp_secrets where user_id = new.user_id);
begin
  if not new.methods && array['otp', 'rec', 'passkey']
    and (has_totp or new.second_factor_required)
    and not (has_totp
      and exists (select 1 from trusted_devices where id = new.trusted_device and user_id = new.user_id)) then
    return null;
  end if;
  return new;
end $$;

create trigger session_needs_second_factor before insert on refresh_token_records
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

create trigger session_ended after delete on refresh_token_records
for each row when (old.expires_at > now()) execute function note_ended_session();

-- A change of the password in a session refuses the tokens before it. A rotation does not name the column, and costs nothing.
create trigger session_tokens_replaced after update of oldest_generation on refresh_token_records
for each row when (new.oldest_generation > old.oldest_generation) execute function note_ended_session();

-- Guards the list of ended sessions against `truncate`, which deletes no single row.
create function note_all_sessions_ended() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  insert into ended_sessions (sid) select id from refresh_token_records where expires_at > now()
  on conflict (xact, sid) do update set min_generation = null;
  return null;
end $$;

create trigger all_sessions_ended before truncate on refresh_token_records
for each statement execute function note_all_sessions_ended();

-- ── Webhooks: no way to change a user is missed

create function are_webhooks_wanted() returns boolean
language sql stable security definer set search_path from current as $$
  select exists (select 1 from webhooks_wanted where until > now())
$$;

-- Called by the triggers only, with their rights. In this language its plan is kept for the next row.
create function queue_webhook_of_user(about uuid, webhook_type text) returns void
language plpgsql as $$
begin
  insert into outgoing_webhooks (type, user_id, data)
  select webhook_type, u.id, jsonb_build_object('user', jsonb_build_object(
    'id', u.id, 'email', u.email, 'username', u.username, 'name', u.name, 'provider', u.provider,
    'providers', array(select i.provider from identities as i where i.user_id = u.id order by i.provider),
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
  (old.email, old.username, old.name, old.disabled_at is null) is distinct from
  (new.email, new.username, new.name, new.disabled_at is null) and are_webhooks_wanted()
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

create trigger user_signed_in after insert on refresh_token_records
for each row when (are_webhooks_wanted()) execute function note_sign_in();
