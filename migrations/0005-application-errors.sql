-- older programs: can run from 0002

-- What an error is about. Of each kind so many are kept: errors that anybody can cause do not replace those that are looked for.
-- Normal ends of a request (the user said no, or was not signed in) are a kind of their own, which is counted and is no error.
alter table application_errors add column kind text not null default 'grant';
