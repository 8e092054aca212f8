// What an OpenID provider does for an application: a code for tokens, a refresh token for the next, and UserInfo. Against
// oidc-provider, which most providers in Node are made of, on the same PostgreSQL.
import { openConnection } from '../load/connection.mjs'
import { runClients } from '../load/loads.mjs'
import { beginCoreTime } from '../load/process-tree.mjs'
import { compareInRounds, printRows } from '../load/rounds.mjs'

/** @typedef {import('../subjects/openid.mjs').Provider} Provider */
/** @typedef {import('../load/rounds.mjs').Measurement} Measurement */

const clients = 16
/** More than one for each client, so that its authorizations do not reach the number of tokens that one of them can have. */
const sessionsPerClient = 4
const codesPerClient = 24
const plan = { rounds: 5, seconds: 3 }

/** @type {(answer: import('../load/connection.mjs').Answer | undefined) => Record<string, string>} */
const contentOf = (answer) => {
  if (answer?.status !== 200) throw new Error(`A request ended with ${answer?.status}: ${answer?.body}`)
  return JSON.parse(answer.body.slice(answer.body.indexOf('{'), answer.body.lastIndexOf('}') + 1))
}

/** Each client has a connection, and the cookies of several sessions of a user. @param {Provider} provider */
const openClients = async (provider) => {
  const browsers = []
  for (const person of provider.people.slice(0, clients)) {
    /** @type {string[]} */
    const cookies = []
    while (cookies.length < sessionsPerClient) cookies.push(await provider.signIn(person))
    browsers.push({ cookies, connection: openConnection(provider.port) })
  }
  return browsers
}

/** @typedef {Measurement & { done: number }} CountedMeasurement */
/** Measures core time as `withCoreTimeOfAll` does, for a load that may begin after something else. @type {(pids: readonly number[], load: () => Promise<CountedMeasurement>) => Promise<CountedMeasurement>} */
const withProcessTime = async (pids, load) => {
  const usedTime = beginCoreTime(pids)
  const result = await load()
  return { ...result, core: usedTime() / result.done }
}

/** The loads of a provider, by the kind of request. The core time is that of the stores too. @param {Provider} provider @param {readonly number[]} [storePids] */
export const createLoads = async (provider, storePids = []) => {
  const browsers = await openClients(provider)
  const ask = (/** @type {number} */ client, /** @type {string} */ text) => browsers[client]?.connection.ask(text)
  const redeem = async (/** @type {number} */ client, /** @type {string} */ code) =>
    contentOf(await ask(client, provider.redeemRequest(code)))
  const codesOf = async (/** @type {string[]} */ cookies, /** @type {number} */ count) => {
    /** @type {string[]} */
    const codes = []
    while (codes.length < count) codes.push(await provider.requestCode(cookies[codes.length % cookies.length] ?? ''))
    return codes
  }
  const tokens = await Promise.all(
    browsers.map(async ({ cookies }, client) => redeem(client, (await codesOf(cookies, 1))[0] ?? '')),
  )
  const close = () => {
    for (const { connection } of browsers) connection.close()
  }
  const load = (/** @type {number} */ seconds, /** @type {(client: number) => Promise<boolean>} */ step) => {
    // A server closes what was idle for a few seconds, perhaps at the moment of the next request.
    close()
    return withProcessTime([provider.pid(), ...storePids], () =>
      runClients({ clients: browsers.length, seconds, step }),
    )
  }

  /** Takes as long as it takes. The codes are made before: that is a request of the browser. @type {() => Promise<CountedMeasurement>} */
  const redemptions = async () => {
    close()
    const codes = await Promise.all(browsers.map(({ cookies }) => codesOf(cookies, codesPerClient)))
    return withProcessTime([provider.pid(), ...storePids], async () => {
      const begun = performance.now()
      await Promise.all(
        codes.map(async (own, client) => {
          for (const code of own) await redeem(client, code)
        }),
      )
      const done = codes.flat().length
      return { done, perSecond: (done * 1000) / (performance.now() - begun) }
    })
  }
  return {
    close,
    'code → tokens': redemptions,
    refresh: (/** @type {number} */ seconds) =>
      load(seconds, async (client) => {
        tokens[client] = contentOf(await ask(client, provider.refreshRequest(tokens[client]?.refresh_token ?? '')))
        return true
      }),
    UserInfo: (/** @type {number} */ seconds) =>
      load(seconds, async (client) => {
        contentOf(await ask(client, provider.userInfoRequest(tokens[client]?.access_token ?? '')))
        return true
      }),
  }
}

/** @param {Provider} latchkey @param {Provider} other @param {readonly number[]} [storePids] */
export const measureOpenid = async (latchkey, other, storePids) => {
  const theirs = await createLoads(other, storePids)
  const ours = await createLoads(latchkey, storePids)
  try {
    for (const kind of /** @type {const} */ (['code → tokens', 'refresh', 'UserInfo'])) {
      const candidates = [
        { name: 'oidc-provider, PostgreSQL', runLoad: theirs[kind] },
        { name: 'Latchkey', runLoad: ours[kind] },
      ]
      printRows(
        `${kind}: ${clients} clients, ${plan.rounds} rounds of ${plan.seconds} s, medians`,
        await compareInRounds(candidates, plan),
      )
    }
  } finally {
    theirs.close()
    ours.close()
  }
}
