-- older programs: can run from 0001

-- ── Accounts: language, undo links, taking an account back

-- ── Sessions: times of proofs, how a session began

-- When the user last proved a second factor (a code or a passkey) in this session. Null if they have not, or if that factor
-- was removed since.
alter table refresh_token_records add column second_factor_at timestamptz;

-- ── Mails

-- ── Limits and registrations

-- ── Operations

-- What an operator did with a command: a running service writes it into its log, once.
alter table events add column log_pending boolean;
create index events_log_pending on events (id) where log_pending;
