-- older programs: can run from 0002

-- With the undo of a replaced authenticator app: the secret from before, sealed under its id. The kind stays `totp`: an older program,
-- which knows no replacement, switches two-step sign-in off where this one lets the app from before work again.
alter table undos add column former_secret_id uuid unique;
alter table undos add column former_secret text;
alter table undos add constraint former_secret_has_id check ((former_secret is null) = (former_secret_id is null));
