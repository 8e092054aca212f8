-- older programs: can run from 0001

-- ── Accounts: language, undo links, taking an account back

-- ── Sessions: times of proofs, how a session began

-- ── Mails

-- ── Limits and registrations

-- ── Operations
