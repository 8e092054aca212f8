-- older programs: can run from 0002

-- A browser that asks again for the same address when no more mails are sent begins anew, as it would with a mail: it must not see the
-- limit. The code from before keeps its own tries and its own end. In rows of older programs both end together.
alter table mail_sign_ins add column code_tries_left integer not null default 5;
alter table mail_sign_ins add column code_expires_at timestamptz not null default 'infinity';
-- Of the value of the browser and the address together: alone it says nothing about the address.
alter table mail_sign_ins add column address_hash bytea;
