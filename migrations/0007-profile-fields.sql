-- older programs: can run from 0002

-- What an operator asks users for (PROFILE_FIELDS_FILE), by key. One column: it goes with the row into every export and is deleted
-- with it. A field that has left the file stays here until `latchkey fields purge`.
alter table users add column fields jsonb not null default '{}';
alter table pending_registrations add column fields jsonb not null default '{}';

-- Each version of the terms that a user has agreed to (TERMS_VERSION). Two instances with different versions do not ask in turns.
create table agreed_terms (
  user_id uuid not null references users on delete cascade,
  version text not null,
  agreed_at timestamptz not null,
  primary key (user_id, version)
);
-- What was agreed to on the form of a registration. The account gets it.
alter table pending_registrations add column terms_version text;

-- A sign-in whose proofs are complete can wait for required fields and for the terms. Then the row has the whole proof.
alter table sign_in_challenges
  drop constraint sign_in_challenges_kind_check,
  add constraint sign_in_challenges_kind_check check (kind in ('second_factor', 'enrolment', 'profile', 'terms')),
  -- As `amr` names them. Null while a proof is missing.
  add column methods text[],
  -- When the user proved it, if that was not at the sign-in itself.
  add column proven_at timestamptz,
  add column trusted_device uuid;

select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Guards the privacy of a deleted user: as before, and nothing is left of what was written into the form.
create or replace function forget_registrations(keys text[]) returns void
language sql security definer set search_path from current as $$
  delete from pending_registrations where email_key = any(keys) and confirmed_at is not null;
  update pending_registrations set email = '', username = '', name = null, invitation_hash = null, older_token_hashes = '{}',
    fields = '{}', terms_version = null,
    token_hash = decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'),
    email_key = 'sha256 ' || encode(sha256(convert_to(email_key, 'UTF8')), 'hex'),
    username_key = 'sha256 ' || encode(sha256(convert_to(username_key, 'UTF8')), 'hex')
  where email_key = any(keys);
$$;

-- Applications with webhooks are told of the fields too. The sender leaves out those that have left the file.
create or replace function queue_webhook_of_user(about uuid, webhook_type text) returns void
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

drop trigger user_updated on users;
create trigger user_updated after update on users
for each row when (
  (old.email, old.username, old.name, old.groups, old.fields, old.disabled_at is null) is distinct from
  (new.email, new.username, new.name, new.groups, new.fields, new.disabled_at is null) and are_webhooks_wanted()
) execute function note_updated_user();
