/**
 * What a counter is for: a client network, the connection of a customer (which may have many networks), a session, a user, a
 * typed name, a device, the key of a program.
 */
type Counted = 'network' | 'connection' | 'session' | 'user' | 'name' | 'device' | 'key'

/** Every limiter, and what it counts. `latchkey limits clear` finds the counters by it. */
const limiters = {
  login: ['network', 'device'],
  confirm: ['network'],
  sensitive: ['network'],
  general: ['network', 'session'],
  session: ['network', 'session'],
  logout: ['network', 'session'],
  account: ['name'],
  device: ['device'],
  known: ['user'],
  sign_ins: ['user'],
  known_sign_ins: ['device'],
  network_sign_ins: ['network'],
  network_mails: ['connection'],
  device_codes: ['user'],
  mailed_codes: ['user'],
  email_changes: ['user'],
  service: ['key'],
} as const satisfies Record<string, readonly Counted[]>

export type LimiterName = keyof typeof limiters

export const isLimiterName = (name: string): name is LimiterName => Object.hasOwn(limiters, name)

export const limiterNames = Object.keys(limiters) as LimiterName[]

/** The limiters that count this. */
export const limitersOf = (counted: Counted) =>
  limiterNames.filter((name) => (limiters[name] as readonly Counted[]).includes(counted))

/** What a limiter counts a user by. */
export const userSubject = (userId: string) => `user:${userId}`

/** What a limiter counts a session by. */
export const sessionSubject = (sessionId: string) => `session:${sessionId}`

/** What a limiter counts a browser by that is known to a user. It begins with the user, so that a command finds all of them. */
export const deviceSubject = (userId: string, device: string) => `device:${userId}:${device}`

/** What the keys of the browsers that are known to a user begin with. */
export const beginningsOfDevices = (userId: string) =>
  limitersOf('device').map((name) => limiterKey(name, deviceSubject(userId, '')))

/** The key of a counter. */
export const limiterKey = (name: LimiterName, subject: string) => `${name}:${subject}`
