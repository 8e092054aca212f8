-- older programs: can run from 0002

-- The application that has sent the user to a registration or a new password. The mail may be opened in another browser, whose page
-- then says where to go on. Without a reference: an application that was deleted since has no name any more, and nothing is missing.
alter table pending_registrations add column application_id text;
alter table one_time_tokens add column application_id text;
