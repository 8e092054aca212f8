-- older programs: can run from 0001

-- The username at the sign-in: every refresh token of a session has this one. Null for sessions of older programs.
alter table refresh_token_records add column signed_in_as text;

-- Since when nothing is sent, because the receiver answered 410. A start and `webhooks retry` set it to null.
alter table webhooks_wanted add column stopped_at timestamptz;
