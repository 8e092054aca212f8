// A sender in a process of its own, which the test kills while it works.
// From dist/modules/, where a process of its own finds JavaScript.
const built = (/** @type {string} */ path) => import(new URL(`../../dist/modules/${path}`, import.meta.url).href)
const { createWebhooks } = await built('messages/webhooks.js')
const { createPostgres } = await built('platform/database/open.js')
const { createOutbound } = await built('platform/outbound/outbound.js')

const { databaseUrl, url, secrets, moved } = JSON.parse(process.argv[2] ?? '{}')
const timeouts = { connectTimeoutMs: 5_000, statementTimeoutMs: 10_000 }
const database = createPostgres({ url: databaseUrl, poolSize: 4, ...timeouts })
const ignore = () => {}
createWebhooks({
  database,
  clock: { now: () => new Date(Date.now() + moved), offset: () => moved },
  receiver: { url, secrets, outbound: createOutbound({ allowPlainHttp: true, cutBody: true }) },
  log: { warn: ignore, error: ignore },
}).start()
setInterval(ignore, 1_000)
