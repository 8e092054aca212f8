-- older programs: can run from 0002

-- Whether a native application may use the device flow (RFC 8628). Other kinds never may.
alter table applications add column device_flow boolean not null default true;

-- A device without a browser that waits for its user.
create table device_requests (
  id uuid primary key,
  -- Of the code that only the device has.
  device_hash bytea not null unique,
  -- Of the short code that the user compares. It opens nothing without a session.
  user_hash bytea not null unique,
  application_id text not null references applications on delete cascade,
  scopes text[] not null,
  -- Where the request came from: the user is shown it.
  ip text not null,
  user_agent text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- In seconds, and when the device last asked. It grows each time the device asks too early.
  poll_interval integer not null,
  polled_at timestamptz,
  -- Who has answered, in which session.
  answer text check (answer in ('approved', 'denied')),
  user_id uuid references users on delete cascade,
  sid uuid,
  -- A used code is kept for a while: a second use is a sign of theft. `device_sid`: the session that it began.
  used_at timestamptz,
  device_sid uuid
);
create index device_requests_of_application on device_requests (application_id);
create index device_requests_of_user on device_requests (user_id);
create index device_requests_expiry on device_requests (expires_at);

-- The application whose device has this session. Nobody has tokens of such a session but the application its own. No foreign key: the
-- trigger below ends the session.
alter table refresh_token_records add column application_id text;

select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Guards the sessions of devices: one has no other use than its application, so both end together.
create function end_session_of_device() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  delete from refresh_token_records where id = old.sid and application_id is not null;
  return null;
end $$;

create trigger device_session_ended after delete on application_sessions
for each row execute function end_session_of_device();
