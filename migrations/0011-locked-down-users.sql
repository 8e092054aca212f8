-- older programs: can run from 0002

-- The link in the mail works no longer. The row stays: it says what is removed when the account is taken back, and reserves its address.
alter table undos add column is_void boolean not null default false;

-- Since when the account is locked down. It is also disabled; one that is enabled is not locked down, whatever stands here.
alter table users
  add column locked_down_at timestamptz,
  -- The password is from before the lock-down, so a thief may know it: it ends when the account is enabled.
  add column password_distrusted boolean not null default false;
