-- older programs: can run from 0001

-- When the user first signed in: no mail about a new device is sent for that.
alter table users add column first_signed_in_at timestamptz;

-- The provider at which a session began, for the list of sessions.
alter table refresh_token_records add column provider text;
