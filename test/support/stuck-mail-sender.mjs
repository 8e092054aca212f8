// A sender whose mail server never answers: it claims the waiting mail, says so, and is killed by the test.
// From dist/modules/, where a process of its own finds JavaScript.
import { createSecretKey } from 'node:crypto'

const built = (/** @type {string} */ path) => import(new URL(`../../dist/modules/${path}`, import.meta.url).href)
const { createMails } = await built('messages/mails.js')
const { createSeal } = await built('lib/seal.js')
const { createPostgres } = await built('platform/database/open.js')

const { url, key } = JSON.parse(process.argv[2] ?? '{}')
const database = createPostgres({ url, poolSize: 2, connectTimeoutMs: 5_000, statementTimeoutMs: 10_000 })
const ignore = () => {}
const mails = createMails({
  database,
  clock: { now: () => new Date(), offset: () => 0 },
  seal: createSeal([createSecretKey(Buffer.from(key, 'hex'))]),
  mailer: {
    send: (/** @type {{ id: string }} */ { id }) => {
      process.stdout.write(`claimed ${id}\n`)
      return new Promise(ignore)
    },
    close: async () => {},
  },
  letterhead: {
    publicUrl: 'http://localhost:3000',
    brand: { name: 'Latchkey', accent: '#1f6f5c' },
    from: 'no-reply@example.com',
  },
  log: { info: ignore, warn: ignore, error: ignore },
})
mails.start()
setInterval(ignore, 1_000)
