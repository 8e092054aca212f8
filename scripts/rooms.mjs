// The rooms of src/, from the top down. The files of a room import their own room and the rooms after it.

/** @type {Record<string, string>} each with what is in it */
export const rooms = {
  main: 'the files of src/ itself: the program, the service in the process of a test, the cluster of the image',
  commands: 'the commands of an operator, and the table of all of them',
  service: 'opens all rooms, registers all routes, serves and closes',
  backups: 'a backup, and how it is restored',
  pages: 'what the browser loads: pages, their files, the API document, the preview',
  admin: 'the API of administrators',
  configuration: 'what operators set: configuration files, their plan, settings that change while the service runs',
  programs: 'the API of programs with a service key',
  'access-check': 'answers proxies whether a request may pass',
  openid: 'the OpenID provider',
  accounts: 'what users do with their own account',
  'sign-in': 'who gets a session; the only room that begins one',
  providers: 'signing in at other services',
  registration: 'how accounts come to be: registration, invitations, the first one',
  factors: 'authenticator apps, recovery codes, passkeys, trusted devices, fresh proofs',
  'personal-tokens': 'the tokens with which programs of a user enter applications behind a proxy',
  'account-changes': 'the table of changes of an account, and what follows from each',
  applications: 'what signs users in here: its record, its secrets, what users allowed it',
  groups: 'groups and their members',
  messages: 'mails, webhooks, events',
  sessions: 'sessions and their tokens, guards, CSRF',
  users: 'users: their names, their fields, the search',
  keys: 'signing keys and sealed values',
  passwords: 'hashes, strength, leaked passwords',
  settings: 'the table of settings; reads the environment',
  http: 'the server, and what all requests share',
  platform: 'what needs a machine: the database, the cache, mail, threads, the log',
  contract: 'what crosses the wire, once',
  lib: 'small functions of no subject',
}

// Who registers routes, and those of which folder. The routes of administrators are loaded late.
export const registrars = [
  { path: 'src/service/register-routes.ts', folder: 'src/' },
  { path: 'src/admin/admin.routes.ts', folder: 'src/admin/' },
]

// What guards, limits or answers requests for routes. All other rules take values and return values, so that a command can load them.
export const filesThatKnowRequests = [
  'src/admin/admin-guard.ts',
  'src/factors/freshness.ts',
  'src/openid/client-authentication.ts',
  'src/openid/openid-door.ts',
  'src/pages/assets.ts',
  'src/programs/service-callers.ts',
  'src/service/serving.ts',
  'src/sessions/callers.ts',
  'src/sessions/csrf.ts',
  'src/sessions/guards.ts',
  'src/sessions/session-cookies.ts',
  'src/sign-in/answers.ts',
  'src/sign-in/browser-cookies.ts',
  'src/sign-in/ceilings.ts',
  'src/sign-in/enrol-guard.ts',
  'src/sign-in/guess-limits.ts',
  'src/sign-in/recovered-accounts.ts',
]
