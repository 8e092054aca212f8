import { isIP } from 'node:net'
import { isGroupName } from '../contract/groups.js'
import { safeReturnTo } from '../contract/return-to.js'
import { defaultScopes, serviceScopes } from '../contract/service.js'
import { accessTokenLifetime, refreshTokenLifetime } from '../http/cookie-table.js'
import { days, hours, minutes, readDuration } from '../lib/durations.js'
import { readRedisAddress } from '../platform/cache/redis-address.js'
import { readPostgresAddress } from '../platform/database/postgres-address.js'
import { type InvalidAddress, isInvalidAddress } from '../platform/invalid-address.js'
import { readSmtpAddress, type SmtpServer } from '../platform/mail/smtp-address.js'
import { trustedProxies } from './hosts.js'
import { providerSettings } from './provider-settings.js'
import { weaknessOfSecret } from './secrets.js'
import {
  addressOrPath,
  duration,
  durationUpTo,
  filePath,
  InvalidValue,
  integer,
  limit,
  list,
  logoAddress,
  oneOf,
  positiveDuration,
  type Read,
  type Setting,
  siteAddress,
  text,
} from './setting-values.js'
import { webhookAddress, webhookSecrets } from './webhook-settings.js'
import { commonlyReserved, mailSender, passwordWords, registrationDomains, reservedUsernames } from './word-lists.js'

const longestAccess = `${accessTokenLifetime / minutes}m`
const longestRefresh = `${refreshTokenLifetime / days}d`

const signingSecret: Read<string> = (value) => {
  const weakness = weaknessOfSecret(value)
  if (weakness) throw new InvalidValue(weakness)
  return value
}
const publicAddress: Read<string> = (value) => {
  const address = siteAddress(value)
  if (address.length > longestIssuer) throw new InvalidValue(`must not be longer than ${longestIssuer} characters`)
  return address
}
const colour: Read<string> = (value) => {
  if (!/^#[0-9a-f]{6}$/i.test(value)) throw new InvalidValue('must be a colour such as #2f6fed')
  return value.toLowerCase()
}
const acceptAddress = <Address extends object>(address: Address | InvalidAddress): Address => {
  if (isInvalidAddress(address)) throw new InvalidValue(address.reason)
  return address
}
const smtpServer: Read<SmtpServer> = (value) => acceptAddress(readSmtpAddress(value))
const postgresAddress: Read<string> = (value) => {
  acceptAddress(readPostgresAddress(value))
  return value
}
const redisAddress: Read<string> = (value) => {
  acceptAddress(readRedisAddress(value))
  return value
}
const signingSecrets: Read<string[]> = (value) => {
  const secrets = list(signingSecret)(value)
  if (secrets.length === 0) throw new InvalidValue('must hold at least one secret')
  return secrets
}
const exactOrigin: Read<string> = (value) => {
  if (value.includes('*')) throw new InvalidValue('must be whole addresses: there are no patterns')
  return siteAddress(value)
}
const cookieDomain: Read<string> = (value) => {
  if (!/^[a-z\d-]+(?:\.[a-z\d-]+)+$/i.test(value) || isIP(value))
    throw new InvalidValue('must be a domain with at least two parts, such as example.com')
  return value.toLowerCase()
}
const hostName: Read<string> = (value) => {
  if (!/^[a-z\d_-]+(?:\.[a-z\d_-]+)*$/i.test(value)) throw new InvalidValue('must be names of hosts, without a port')
  return value.toLowerCase()
}
const pictureSize: Read<{ width: number; height: number }> = (value) => {
  const [, width = '', height = ''] = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(value) ?? []
  if (!width) throw new InvalidValue('must be a width and a height in pixels, such as 560x120')
  return { width: Number(width), height: Number(height) }
}
const codeList = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ')
const linkAddress = addressOrPath('/terms')
const supportAddress: Read<string> = (value) => (/^mailto:[^\s@]+@[^\s@]+$/i.test(value) ? value : linkAddress(value))
const termsVersion: Read<string> = (value) => {
  if (!/^[\w.-]{1,64}$/.test(value))
    throw new InvalidValue('must be 1 to 64 letters, digits, dots, underscores and hyphens, such as 2026-11')
  return value
}
const ownPath: Read<string> = (value) => {
  const path = safeReturnTo(value)
  // The login page redirects to this path, so the login page itself would redirect for ever.
  if (path === undefined || /^\/login(?![^/?#])/.test(path))
    throw new InvalidValue('must be a path of this site such as /dashboard, and not the login page')
  return path
}
/** In less than a minute a user could not finish a sensitive change. */
const freshness: Read<number> = (value) => {
  const milliseconds = duration(value)
  if (milliseconds < 1 * minutes) throw new InvalidValue('must be at least 1m')
  return milliseconds
}
/** For so long a stolen token that was just replaced still works. */
const grace: Read<number> = (value) => {
  const milliseconds = duration(value)
  if (milliseconds > 1 * hours) throw new InvalidValue('must be at most 1h')
  return milliseconds
}
const groupName: Read<string> = (value) => {
  if (!isGroupName(value)) throw new InvalidValue('must be the name of a group, such as admins')
  return value
}
/** Empty: there are no administrators. */
const adminGroup: Read<string | null> = (value) => (value === '' ? null : groupName(value))
const trustedDevices: Read<number | 'off'> = (value) => {
  if (value === 'off') return value
  const milliseconds = readDuration(value) ?? 0
  if (milliseconds < 1 * hours || milliseconds > 365 * days)
    throw new InvalidValue('must be `off`, or a duration from 1h to 365d')
  return milliseconds
}
const logLevel = oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent')

/** The longest address of the service. A longer one would not fit into a token twice, with the longest username and email. */
export const longestIssuer = 160

// biome-ignore format: one setting a line, so that the table can be read as a table
/** Every setting there is, in the order of the guide. */
export const settings = {
  NODE_ENV: { read: oneOf('development', 'production', 'test'), fallback: 'development', commonName: true, meaning: '`production` makes cookies `Secure` and needs `PUBLIC_URL`. Otherwise the service is only for this machine: see `DEVELOPMENT_ON_NETWORK`.' },
  HOST: { read: text, fallback: '127.0.0.1', commonName: true, meaning: 'Address to listen on.' },
  PORT: { read: integer(0, 65_535), fallback: '3000', commonName: true, meaning: 'Port to listen on. 0 chooses a free port, and the log names it.' },
  PUBLIC_URL: { read: publicAddress, otherwise: '`http://localhost:PORT`', commonName: true, meaning: 'The address that users see. It is used for links in mails, redirects, the `Origin` check and the issuer of access tokens; the `Host` header is not. Production needs `https`.' },
  TRUST_PROXY: { read: trustedProxies, otherwise: '`none`', commonName: true, meaning: 'Addresses or ranges of the proxies whose `X-Forwarded-For` is trusted, separated by commas. A range may be a /8 or smaller, for IPv6 a /16 or smaller. Without it the service takes a proxy for the only client, so all visitors share its limits: the page `/api/auth/setup` and `latchkey doctor` say so, and the page names the address to write here. `none` if clients connect directly.' },
  DEVELOPMENT_ON_NETWORK: { read: oneOf('true', 'false'), fallback: 'false', meaning: 'Outside production, `HOST` and `PUBLIC_URL` must be this machine (`127.0.0.1`, `localhost`), because cookies are not `Secure` and anyone can read the development mailbox. `true` allows other addresses.' },
  DEVELOPMENT_HOSTS: { read: list(hostName), fallback: '', otherwise: 'none', meaning: 'Outside production the service answers requests for this machine (`localhost`), for IP addresses and for the host of `PUBLIC_URL` only, so that a page of another site cannot read the development mailbox through a name that leads to your machine. Further names, separated by commas, such as `host.docker.internal`.' },
  DATA_DIR: { read: filePath, fallback: './data', commonName: true, meaning: 'Folder of the PostgreSQL that Latchkey brings along, and of the secrets that nobody gave (`secrets/`). It must be on a disk of this machine; a container needs a volume there.' },
  SECRETS_DIR: { read: filePath, otherwise: '`CREDENTIALS_DIRECTORY` of systemd', commonName: true, meaning: 'Folder with a file for each secret, or for any other setting: the file `jwt_secret` or `JWT_SECRET` has the value of `JWT_SECRET`. A setting that is given in another way is not read from there. If both folders are set, both are read; of two files for one setting, that of `CREDENTIALS_DIRECTORY` counts.' },
  DATABASE_URL: { read: postgresAddress, otherwise: 'a PostgreSQL of its own in `DATA_DIR`', secret: true, commonName: true, meaning: 'Address of PostgreSQL. Without it the service runs one itself, in development and in production: see docs/operating.md. With several hosts (`postgres://user:password@one,two/latchkey`) the service finds the primary. On another machine, production needs `?sslmode=verify-full`, or `?sslmode=disable` to say that the connection is not encrypted, `no-verify` that the server is not checked.' },
  DATABASE_OWNER_URL: { read: postgresAddress, otherwise: '`DATABASE_URL`', secret: true, commonName: true, meaning: 'Address with the role that owns the tables and runs migrations. If it is set, the role in `DATABASE_URL` gets only the rights it needs.' },
  POSTGRES_BIN: { read: filePath, otherwise: 'found', commonName: true, meaning: 'Folder with the programs of PostgreSQL 15 or newer (`postgres`, `initdb`) for the database that Latchkey runs itself. Without it, that is the package that npm has installed for this platform, or else the newest of the machine.' },
  DATABASE_POOL: { read: integer(1, 500), fallback: '10', commonName: true, meaning: 'Most connections of one process to PostgreSQL.' },
  REDIS_URL: { read: redisAddress, otherwise: 'in PostgreSQL', secret: true, commonName: true, meaning: 'Address of Redis or Valkey, for the counters of the limits; docs/scale.md says from which rate on it helps: `redis://127.0.0.1:6379`, with a password `redis://:password@host:6379`, with a user of Redis `redis://user:password@host:6379`. Several addresses separated by commas are a Cluster; `redis+sentinel://one:26379,two:26379/name` is a Sentinel group; `rediss` uses TLS. To another machine, production needs `rediss`, or `?tls=off` to say that the connection is not encrypted.' },
  REDIS_PREFIX: { read: text, fallback: 'latchkey:', commonName: true, meaning: 'Prefix of every key, so that several services can share one Redis.' },
  JWT_SECRET: { read: signingSecrets, otherwise: 'made once and kept in `DATA_DIR`', secret: true, commonName: true, meaning: 'At least 64 random characters. Several secrets may be given, separated by commas: the first signs, all of them verify. Two of them with a semicolon or white space between them are refused. Required in production with `DATABASE_URL`.' },
  ACCESS_TOKEN_ALGORITHM: { read: oneOf('HS256', 'ES256'), fallback: 'HS256', commonName: true, meaning: 'What signs access tokens: `HS256` with `JWT_SECRET`, or `ES256` with key pairs that the service makes, keeps in the database and replaces every 90 days. Other programs check those with the public keys at `/.well-known/jwks.json` and need no secret. Both are accepted in any case, so it can be changed at any time, once every instance has this version.' },
  SEALING_KEY: { read: signingSecrets, otherwise: '`JWT_SECRET`; without `DATABASE_URL` made once and kept in `DATA_DIR`', secret: true, commonName: true, meaning: 'Encrypts the secrets that are stored in the database for long. Written like `JWT_SECRET`: the first one encrypts, all of them decrypt. At the start, values that another one has encrypted are encrypted again with the first. docs/operating.md explains how to replace it.' },
  BCRYPT_COST: { read: integer(10, 15), fallback: '12', commonName: true, meaning: 'Cost of password hashes, 10 to 15. A stored hash with a lower cost is replaced at the next sign-in.' },
  BREACHED_PASSWORDS: { read: filePath, otherwise: 'off', meaning: 'File with leaked passwords, made by `latchkey passwords build`. Passwords in it are refused when a user registers, changes or resets a password, and never at a sign-in. A file that takes its place is used at once. docs/sign-in.md explains it.' },
  PASSWORD_WORDS: { read: passwordWords, fallback: '', otherwise: 'none', meaning: 'Words that people around your service put into passwords, separated by commas: your organisation, its products, its places. Such a word counts as easy to guess, as `PRODUCT_NAME` and the user\'s own names do. At most 100 words of 3 to 64 characters. Nothing changes for passwords that exist.' },
  WORKERS: { read: integer(1, 64), fallback: '1', commonName: true, meaning: 'Processes that serve one port, each with its own connections and threads. More than one only in production, and not with port 0.' },
  WORKER_THREADS: { read: integer(1, 64), otherwise: 'by the number of cores', commonName: true, meaning: 'Threads that hash passwords, in each process.' },
  WORKER_QUEUE: { read: integer(1, 10_000), fallback: '100', commonName: true, meaning: 'Most password checks that may wait for a thread. With more, a check from the IPv4 address or IPv6 /48 that has the most of them is answered 503.' },
  // Typed as `object`, which keeps these names out of `Config`: it has `providers` instead.
  ...(providerSettings as object),
  SMTP_URL: { read: smtpServer, otherwise: 'development mailbox; production: no mails', secret: true, commonName: true, meaning: 'Server for outgoing mail: `smtp://user:password@mail.example.com` (port 587, STARTTLS), `smtps://user:password@mail.example.com` (port 465, TLS from the start), `smtp://127.0.0.1:25` for a server on this machine without a password. With `smtp` to another machine STARTTLS and a valid certificate are required; `?tls=off` says that the connection is not encrypted. In the name and the password write `@ : / ? # %` as `%40 %3A %2F %3F %23 %25`. Without it, production sends no mails and offers nothing that needs one: see docs/sign-in.md.' },
  MAIL_FROM: { read: mailSender, fallback: 'Latchkey <no-reply@localhost>', commonName: true, meaning: 'Sender of the mails: one address, with or without a name before it. Required in production with `SMTP_URL`.' },
  ADMIN_GROUP: { read: adminGroup, takesEmpty: true, otherwise: 'the group that the setup has made', commonName: true, meaning: 'Group whose members are administrators: see docs/administrators.md. They help users and manage groups, invitations and applications in the browser, with a second factor. The setup makes the group if it is missing, and puts the first account into it. Without this setting, the setup makes the group `administrators` and stores that it is this one; until then nobody is an administrator. A group of that name that was there before never becomes it. An empty value switches administrators off.' },
  ADMIN_APPLICATIONS: { read: oneOf('on', 'off'), fallback: 'on', meaning: '`on`: members of `ADMIN_GROUP` add, change and delete applications and change settings in the browser; each change needs a second factor of the last 5 minutes, and is mailed to all of them. Who may change a redirect address can sign in there as anybody. `off`: there they change only who may use an application.' },
  SUPPORT_GROUP: { read: groupName, otherwise: 'none', commonName: true, meaning: 'Group whose members can look and help users as administrators do, and cannot change groups, invitations and applications, delete users, or touch the accounts of administrators. Not with an empty `ADMIN_GROUP`.' },
  REGISTRATION: { read: oneOf('open', 'invited', 'closed'), fallback: 'open', meaning: 'Who can create an account. `open`: anyone with an email address. `invited`: only users with an invitation, and the page says so. `closed`: the same, but the pages do not offer registration at all. `latchkey invite EMAIL` sends an invitation; it works with each of the three. Users who have an account can always sign in. Production without `SMTP_URL` is always `closed`.' },
  REGISTRATION_DOMAINS: { read: registrationDomains, fallback: '', otherwise: 'all', meaning: 'Domains, separated by commas, such as `example.com`: only addresses of exactly these domains, and not of those below them, can register, create an account with a provider, or become the new address of an account. An invitation overrides this. With `REGISTRATION=invited` or `closed` a domain by itself lets no user in.' },
  USERNAMES: { read: oneOf('chosen', 'from_email'), fallback: 'chosen', meaning: '`from_email`: the registration asks for no username. It is made from the part of the address before the `@`, with a number if it is taken or reserved, and the user can change it on the account page.' },
  RESERVED_USERNAMES: { read: reservedUsernames, fallback: commonlyReserved, meaning: 'Usernames that no user can choose, separated by commas; they are compared as usernames are, so `Admin` is reserved too. A list of your own replaces the default. `off`: none. The command line can give such a name to a user.' },
  AFTER_SIGN_IN: { read: ownPath, fallback: '/dashboard', meaning: 'Path of this site to which a user goes after signing in, if no other page was requested. If your application shares the host, name one of its pages.' },
  COOKIE_DOMAIN: { read: cookieDomain, otherwise: 'this host only', commonName: true, meaning: 'Domain for which the session cookies are set, such as `example.com` with `PUBLIC_URL=https://auth.example.com`. Every host below it gets the tokens of your users, so all of them must be yours. All other cookies stay with this host.' },
  ALLOWED_ORIGINS: { read: list(exactOrigin), fallback: '', otherwise: 'none', commonName: true, meaning: 'Sites, separated by commas, whose pages may use `/api/auth/` with the cookies of the user, and to which a sign-in may lead back, such as `https://app.example.com`. The cookies are sent only from hosts of one domain (`COOKIE_DOMAIN`). Production needs `https`.' },
  LOGIN_LIMIT: { read: limit, fallback: '5/15m', meaning: 'Failed sign-ins from one client network.' },
  LOGIN_LIMIT_KNOWN_DEVICES: { read: oneOf('shared', 'own'), fallback: 'shared', meaning: '`own`: a browser in which the account was signed in before has its own count of `LOGIN_LIMIT`, and is not stopped by failures or sign-ins (`NETWORK_SIGN_IN_LIMIT`) of others in its network. For offices behind one address, where the mistakes of one person would stop everyone.' },
  ACCOUNT_LIMIT: { read: limit, fallback: '100/1h', meaning: 'Failed sign-ins with one name, whether it exists or not, from all networks together. Browsers in which the account was signed in before are not counted here and not stopped: they have ten failures an hour of their own.' },
  GENERAL_LIMIT: { read: limit, fallback: '100/15m', meaning: 'Requests to the API: by one session where signing in is needed, otherwise from one client network. Refresh and logout are each counted separately, with the same numbers.' },
  SENSITIVE_LIMIT: { read: limit, fallback: '3/1h', meaning: 'Requests for a reset mail from one client network.' },
  SIGN_IN_LIMIT: { read: limit, fallback: '30/1h', meaning: 'Sign-ins of one account with the right password. Programs and browsers that are new to the account share one count; each browser in which it was signed in before has a count of its own. It stops programs that sign in again and again instead of keeping their session.' },
  NETWORK_SIGN_IN_LIMIT: { read: limit, fallback: '1000/1h', meaning: 'Sign-ins with the right password from one client network, of all accounts together.' },
  NETWORK_MAIL_LIMIT: { read: limit, fallback: '100/1h', meaning: 'Mails that one IPv4 address or IPv6 /56 may cause to addresses that it has not proven: registrations, resets, new addresses of accounts. Above that no mail is sent, and the answers are the same.' },
  TOTAL_REGISTRATION_LIMIT: { read: limit, fallback: '5000/1h', meaning: 'New accounts of the whole installation, however many networks they come from. Invitations, commands and imports are not counted. Above that, nobody can register for the rest of the window: docs/scale.md says what suffers first.' },
  TOTAL_MAIL_LIMIT: { read: limit, fallback: '20000/1h', meaning: 'Mails that visitors of the whole installation may cause: registrations (half of them at most), resets, sign-ins by mail in new browsers. Above that no such mail is sent, and the answers are the same. Codes of a sign-in with a password, mails that signed-in users ask for and notices about accounts are not counted.' },
  TOTAL_WAITING_LIMIT: { read: limit, fallback: '30000/10m', meaning: 'Sign-ins that strangers may begin in the whole installation, each kind by itself: authorization requests of applications, devices without a browser, sign-ins by mail in new browsers.' },
  SEED_FILE: { read: filePath, otherwise: 'none', commonName: true, meaning: 'Development only: JSON file with groups, applications and one administrator that are made at the start, if they are not there. docs/applications.md explains it. Production refuses it.' },
  CONFIGURATION_FILE: { read: filePath, otherwise: 'none', meaning: 'YAML or JSON file with groups, applications and settings, applied at the start and on SIGHUP: see docs/configuration-files.md. A file that cannot be applied changes nothing, and the service starts; log, metrics and the page of administrators say so.' },
  PROFILE_FIELDS_FILE: { read: filePath, otherwise: 'none', meaning: 'JSON file with fields of your own that users are asked for: texts, phone numbers, web addresses, dates, choices, yes or no. docs/sign-in.md explains it. A wrong file stops the start. Every instance needs the same file.' },
  TERMS_URL: { read: linkAddress, otherwise: 'none', commonName: true, meaning: 'Your terms of use: an `https` address, or a path below `PUBLIC_URL`. Linked in the footer of pages and mails.' },
  TERMS_VERSION: { read: termsVersion, otherwise: 'not asked', commonName: true, meaning: 'The version of the terms that every user must agree to before a session begins, such as `2026-11`. A new version is asked for at the next sign-in; sessions that have begun go on. Needs `TERMS_URL`. docs/sign-in.md explains it.' },
  PRIVACY_URL: { read: linkAddress, otherwise: 'none', commonName: true, meaning: 'Your privacy policy, linked like `TERMS_URL`.' },
  IMPRINT_URL: { read: linkAddress, otherwise: 'none', commonName: true, meaning: 'Your legal notice, linked like `TERMS_URL`.' },
  SUPPORT_URL: { read: supportAddress, otherwise: 'none', commonName: true, meaning: 'Where users find help, linked like `TERMS_URL`, and where pages and mails tell users to ask the administrator; it may also be `mailto:help@example.com`.' },
  HOME_URL: { read: linkAddress, otherwise: '`AFTER_SIGN_IN`, unless that is the account page', commonName: true, meaning: 'Your application, to which the name at the top of every page leads: an `https` address, or a path below `PUBLIC_URL`.' },
  SERVICE_KEYS_FILE: { read: filePath, otherwise: 'none', meaning: `File with the keys of other programs that may ask \`/api/service/\`, a line for each: \`NAME SHA256 [SCOPES] [until=DATE]\`. Scopes, with commas between them, are ${codeList(serviceScopes)}; a key without any has ${codeList(defaultScopes)}. docs/programs.md says what they open. \`latchkey service-key add NAME\` adds a key. Read again on SIGHUP.` },
  WEBHOOK_URL: { read: webhookAddress, otherwise: 'off', secret: true, commonName: true, meaning: 'Address to which events are sent: see docs/programs.md. Production needs `https`, except to an address in a private network (`WEBHOOK_ALLOW_PRIVATE`).' },
  WEBHOOK_SECRET: { read: webhookSecrets, otherwise: 'none', secret: true, commonName: true, meaning: 'Signs webhooks: `whsec_` and 24 to 64 random bytes in base64. Several, separated by commas, sign at the same time while you replace a secret. Required with `WEBHOOK_URL`.' },
  WEBHOOK_ALLOW_PRIVATE: { read: oneOf('true', 'false'), fallback: 'false', meaning: '`true` allows a receiver in a private network or on this machine. Plain `http` goes only there: in production a name that leads to a public address is not connected to.' },
  BACKCHANNEL_ALLOW_PRIVATE: { read: oneOf('true', 'false'), fallback: 'false', meaning: '`true` allows that applications are told of ended sessions (back-channel logout) at addresses in a private network or on this machine. Outside of production, this machine is always allowed. Link-local addresses, where clouds answer their machines, are never allowed.' },
  REFRESH_GRACE: { read: grace, fallback: '30s', meaning: 'How long a refresh token that was just replaced still gets the same new token again, at most an hour. For those of applications at least 30 seconds.' },
  RENEW_GRACE: { read: grace, fallback: '2m', meaning: 'The same for a refresh token that was replaced by an access check with `renew=1`. The new token travels with the answer of the application, so this must be longer than the slowest of its answers.' },
  ACCESS_TOKEN_LIFETIME: { read: durationUpTo(longestAccess), fallback: longestAccess, commonName: true, meaning: 'How long an access token is valid. Only for tests of your application: production always has 15 minutes.' },
  REFRESH_TOKEN_LIFETIME: { read: durationUpTo(longestRefresh), fallback: longestRefresh, commonName: true, meaning: 'How long a session lasts without a refresh. Only for tests of your application: production always has 30 days.' },
  SESSION_MAX_AGE: { read: positiveDuration, fallback: '365d', commonName: true, meaning: "Longest duration of a session. A refresh does not extend it. A lower value also ends the sessions that are older." },
  FRESH_FOR: { read: freshness, fallback: '10m', meaning: 'How long after a sign-in a session may make sensitive changes, such as linking a provider or ending another session. After that the user must prove again who they are. At least 1m.' },
  MAIL_SIGN_IN: { read: oneOf('on', 'off'), fallback: 'off', meaning: '`on`: users can sign in with a code or a link that is mailed to them, and addresses that may register get their account so, without a password. docs/sign-in.md explains it. Switched off again, accounts without another way need “Forgot password?”; `latchkey doctor` says how many there are. Production without `SMTP_URL` refuses `on`.' },
  SECOND_FACTOR: { read: oneOf('optional', 'required'), fallback: 'optional', meaning: '`required`: an account without a second factor has to add one at its next sign-in, after a code that is mailed to its address (docs/sign-in.md says what takes its place without `SMTP_URL`). Sessions from before continue: see docs/operating.md.' },
  TRUSTED_DEVICES: { read: trustedDevices, fallback: '30d', meaning: 'How long a browser needs no code after the user has chosen to trust it, for accounts with two-step sign-in. `off`: this is not offered, and browsers that were trusted before need a code again.' },
  PERSONAL_TOKENS: { read: oneOf('on', 'off'), fallback: 'on', meaning: 'Whether users can make tokens with which their programs enter applications behind a proxy. `off`: none is made, and those that are there open nothing. docs/personal-tokens.md explains them.' },
  BOUND_SESSIONS: { read: oneOf('off', 'on'), fallback: 'off', meaning: '`on`: browsers that can do it bind each new session to a key of the device, so that copied cookies are worthless after 15 minutes at most. Switch it on once every instance has this version; not together with `COOKIE_DOMAIN`. Switched off again, sessions that are bound stay bound. docs/bound-sessions.md explains it.' },
  HEALTH_TIMEOUT: { read: positiveDuration, fallback: '2s', commonName: true, meaning: 'Timeout of each health check.' },
  DRAIN_DELAY: { read: duration, fallback: '1s', meaning: 'How long `/health/ready` and `/health` answer 503 after SIGTERM before the port closes, so that a load balancer can notice. docs/deployment.md explains the shutdown.' },
  METRICS_PORT: { read: integer(1, 65_535), otherwise: 'off', commonName: true, meaning: 'Port for Prometheus metrics.' },
  METRICS_HOST: { read: text, fallback: '127.0.0.1', commonName: true, meaning: 'Address to listen on for metrics.' },
  PRODUCT_NAME: { read: text, fallback: 'Latchkey', commonName: true, meaning: 'Name shown on the pages and in mails.' },
  PRODUCT_LOGO_URL: { read: logoAddress, otherwise: "Latchkey's mark", meaning: 'Logo on the pages and in mails: an `https` address, or a path below `PUBLIC_URL`. If it is on another server, that server must send `Cross-Origin-Resource-Policy: cross-origin`, or the browser does not show it. Most mail programs show PNG but not SVG.' },
  PRODUCT_LOGO_DARK_URL: { read: logoAddress, otherwise: '`PRODUCT_LOGO_URL`', meaning: 'The logo in the dark colour scheme, in the same size, on pages and in mail programs that know the scheme.' },
  PRODUCT_LOGO_SIZE: { read: pictureSize, otherwise: 'a square mark beside the name', meaning: 'Width and height of the logo, such as `560x120`. With it the logo is a word mark: it takes the place of the name, 2 rem high and at most 14 rem wide (a narrow one up to 3 rem high).' },
  FAVICON_URL: { read: logoAddress, otherwise: 'the logo, or the first letter of the name with a word mark', commonName: true, meaning: 'Icon in the tab of the browser, square: an address like `PRODUCT_LOGO_URL`.' },
  ACCENT_COLOR: { read: colour, fallback: '#1f6f5c', meaning: 'Colour of buttons and links on the pages and in mails. Buttons have exactly this colour, with white or black text. Links are made darker or lighter if they would be hard to read. An accent in `THEME_FILE` counts more.' },
  THEME_FILE: { read: filePath, otherwise: 'none', meaning: 'JSON file with colours for both schemes, radii and fonts of your own, for pages and mails: see docs/looks-and-words.md. Colours that would be hard to read stop the start.' },
  WORDS_FILE: { read: filePath, otherwise: 'none', meaning: 'JSON file with texts of your own for pages and mails, by language: see docs/looks-and-words.md. A wrong file stops the start. Every instance needs the same file.' },
  LOG_LEVEL: { read: logLevel, fallback: 'info', commonName: true, meaning: 'Lowest level that is logged.' },
} satisfies Record<string, Setting>
