import bcrypt from 'bcrypt'
import { uuidv7 } from '../../../src/lib/uuid.js'
import { usernameKey } from '../../../src/users/names.js'
import { freshPostgres, testPostgres } from '../databases.js'
import { freePort } from '../servers/server.js'
import { startSmtpInbox } from '../smtp-inbox.js'
import { createConnections, createVisitor, type Visitor } from './https-client.js'
import { type Instance, startInstance } from './instance.js'
import { freePorts, startNginxSite } from './nginx.js'

export const password = 'violet-Harbor-91-lantern'

export type Site = Awaited<ReturnType<typeof startSite>>

/** People who can sign in at once with the one password. */
export const addPeople = async (databaseUrl: string, names: string[]) => {
  const hash = await bcrypt.hash(password, 10)
  const database = testPostgres(databaseUrl)
  try {
    for (const name of names) {
      await database.query(
        `insert into users (id, email, email_key, username, username_key, password_hash, created_at)
         values ($1, $2, $2, $3, $4, $5, now())`,
        [uuidv7(new Date()), `${name}@example.com`, name, usernameKey(name), hash],
      )
    }
  } finally {
    await database.close()
  }
}

/** The first user gets a name, and an address with ASCII letters only. */
export const giveName = async (databaseUrl: string, email: string, name: string) => {
  const database = testPostgres(databaseUrl)
  await database.query('update users set name = $1, email = $2, email_key = $2', [name, email])
  await database.close()
}

const sharedRedis = () => {
  const url = process.env.TEST_REDIS_URL
  if (!url) throw new Error('TEST_REDIS_URL is not set: run the tests with npm test')
  return url
}

type Options = {
  instances: number
  settings?: Record<string, string>
  databaseUrl?: string
  redisUrl?: string
  /** Another build of the service than this one. */
  program?: string | undefined
}

/** A whole installation: nginx, instances in processes of their own, PostgreSQL, Redis, and a mail server. */
export const startSite = async ({ instances: count, settings = {}, program, ...stores }: Options) => {
  const fresh = stores.databaseUrl ? undefined : await freshPostgres()
  const databaseUrl = stores.databaseUrl ?? fresh?.url ?? ''
  const inbox = await startSmtpInbox()
  const ports = await freePorts()
  const common = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: stores.redisUrl ?? sharedRedis(),
    REDIS_PREFIX: `test:${Math.random().toString(36).slice(2)}:`,
    SMTP_URL: inbox.url,
    PUBLIC_URL: `https://localhost:${ports.tls}`,
    ...settings,
  }
  const instances: Instance[] = await Promise.all(
    Array.from({ length: count }, async () => startInstance(await freePort(), common, program)),
  )
  const front = await startNginxSite({ instances: instances.map(({ port }) => port), ports })
  const connections = createConnections(front)
  const others = new Map<string, ReturnType<typeof createConnections>>()

  const visitor = (from?: string): Visitor => {
    if (!from) return createVisitor(front, connections)
    const own = others.get(from) ?? createConnections(front, from)
    others.set(from, own)
    return createVisitor(front, own)
  }
  return {
    front,
    instances,
    inbox,
    databaseUrl,
    settings: common,
    visitor,
    /** A visitor who has signed in as one of the people. */
    signedIn: async (name: string) => {
      const one = visitor()
      const answer = await one.post('/api/auth/login', { username: name, password })
      if (answer.status !== 200) throw new Error(`${name} could not sign in: ${answer.status} ${answer.text}`)
      return one
    },
    stop: async () => {
      for (const each of [connections, ...others.values()]) each.destroy()
      await Promise.all([front.stop(), ...instances.map((each) => each.stop())])
      await inbox.stop()
      await fresh?.drop()
    },
  }
}
