-- older programs: can run from 0002

-- The address that the provider last gave for the account there, so that users see which of their accounts is connected. Null until
-- the next sign-in with it.
alter table identities add column email text;
