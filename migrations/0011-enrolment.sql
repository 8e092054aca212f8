-- older programs: can run from 0001

-- An enrolment is a sign-in that goes on when its user has added a second factor (SECOND_FACTOR=required).
alter table sign_in_challenges
  -- What codes and secrets of this sign-in are bound to. It is no secret. `pending_totp_secrets.session_id` may have it, too.
  add column id uuid not null default gen_random_uuid(),
  -- `second_factor` or `enrolment`
  add column kind text not null default 'second_factor',
  -- When the code was entered that was mailed for this enrolment. No factor can be added before that.
  add column mail_proven_at timestamptz;

-- What the program that began the session was told by SECOND_FACTOR. The trigger cannot know it otherwise.
alter table refresh_token_records add column second_factor_required boolean not null default false;

-- As in 0007: the functions run with the rights of the owner.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- A session begins with a second proof if the account has TOTP, or if every account needs one. A trusted device stands for the
-- code of an app, so it counts only while there is one.
create or replace function refuse_session_with_one_factor() returns trigger
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
