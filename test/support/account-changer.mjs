// Changes many accounts at once, in a process of its own that the test kills in the middle of all of them.
// From dist/modules/, where a process of its own finds JavaScript.
const built = (/** @type {string} */ path) => import(new URL(`../../dist/modules/${path}`, import.meta.url).href)
const { loadConfig } = await built('settings/config.js')
const { openRooms } = await built('service/open-rooms.js')
const { readDesign } = await built('service/operator-files.js')
const { readOwnWords } = await built('service/operator-files.js')
const { systemClock: clock } = await built('lib/clock.js')
const { createMemoryCache } = await built('platform/cache/memory.js')
const { createPostgres } = await built('platform/database/open.js')
const { createLog } = await built('platform/log.js')

const { settings, client, changes } = JSON.parse(process.argv[2] ?? '{}')
const config = loadConfig(settings)
// Generous, because the machine may be busy with other programs.
const timeouts = { connectTimeoutMs: 60_000, statementTimeoutMs: 120_000 }
const database = createPostgres({ url: config.databaseUrl, poolSize: changes.length, ...timeouts })
const { accountChanges } = openRooms(config, {
  clock,
  log: createLog({ level: 'silent' }),
  database,
  ungatedDatabase: database,
  cache: createMemoryCache({ clock, maximumKeys: changes.length }),
  secrets: config.jwtSecret,
  sealingSecrets: config.jwtSecret,
  leakedPasswords: undefined,
  design: await readDesign(config),
  ownWords: await readOwnWords(config),
  // None of them is asked by a change of an account.
  workers: {},
  mailer: {},
  outbound: {},
  providerSettings: {},
  webhookReceiver: undefined,
  metrics: undefined,
  leavesEventsToService: true,
})

/** `statement` is the change itself; what follows from it is up to the table. */
const change = async (/** @type {Record<string, any>} */ { kind, initiator, details, statement, user, own }) => {
  const caller = { userId: user.id, sessionId: own, generation: 0 }
  const work = async (/** @type {any} */ sql) => {
    await sql.query(statement, [user.id])
    return { changes: { [kind]: details } }
  }
  const bySignIn = async (/** @type {any} */ sql) =>
    accountChanges.bySignIn(sql, { user, client, caller }, (await work(sql)).changes)
  if (initiator === 'sign-in') await database.transaction(bySignIn)
  else if (initiator === 'caller') await accountChanges.byCaller({ caller, client }, kind, work)
  else if (initiator === 'old token') await accountChanges.byOldToken({ caller, client }, kind, work)
  else if (initiator === 'link') await accountChanges.byLink({ userId: user.id, caller, client }, kind, work)
  else await accountChanges.byOperator({ userId: user.id, client }, kind, work)
  process.stdout.write(`${kind} by ${initiator} is done\n`)
}

await Promise.all(changes.map(change))
setInterval(() => {}, 1_000)
