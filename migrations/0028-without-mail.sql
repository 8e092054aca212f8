-- older programs: can run from 0002

-- Production can do without a mail server. An address that was only typed, at the setup or with a printed invitation, opens nothing until
-- something proves it (`email_proven`). Until `first_factor_until` the account can add its first second factor without a mailed code.
alter table users
  add column email_claimed boolean not null default false,
  add column first_factor_until timestamptz;

-- An invitation that was printed for an operator has one link, which proves no address and needs no mail.
alter table invitations add column printed boolean not null default false;

-- Links to choose a password that were printed for an operator.
alter table one_time_tokens drop constraint one_time_tokens_purpose_check;
alter table one_time_tokens add constraint one_time_tokens_purpose_check
  check (purpose in ('reset_password', 'printed_reset', 'restore_account', 'provider_attempt', 'passkey_challenge'));
