// Changes many accounts at once, in a process of its own that the test kills in the middle of all of them.
// From dist/modules/, where a process of its own finds JavaScript.
const built = (/** @type {string} */ path) => import(new URL(`../../dist/modules/${path}`, import.meta.url).href)
const { loadConfig } = await built('config.js')
const { openStores } = await built('commands/open-stores.js')

const { settings, client, changes } = JSON.parse(process.argv[2] ?? '{}')
const { accountChanges, database } = await openStores(loadConfig(settings), 'service')

/** `statement` is the change itself; what follows from it is up to the table. */
const change = async (/** @type {Record<string, any>} */ { kind, door, details, statement, user, own }) => {
  const caller = { userId: user.id, sessionId: own, generation: 0 }
  const work = async (/** @type {any} */ sql) => {
    await sql.query(statement, [user.id])
    return { changes: { [kind]: details } }
  }
  const bySignIn = async (/** @type {any} */ sql) =>
    accountChanges.bySignIn(sql, { user, client, caller }, (await work(sql)).changes)
  if (door === 'sign-in') await database.transaction(bySignIn)
  else if (door === 'caller') await accountChanges.byCaller({ caller, client }, kind, work)
  else if (door === 'link') await accountChanges.byLink({ userId: user.id, caller, client }, kind, work)
  else await accountChanges.byOperator({ userId: user.id, client }, kind, work)
  process.stdout.write(`${kind} by ${door} is done\n`)
}

await Promise.all(changes.map(change))
setInterval(() => {}, 1_000)
