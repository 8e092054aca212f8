import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { refuse } from '../contract/outcome.js'
import { sendRefusal } from '../http/errors.js'
import type { DrainState, Server } from '../http/server.js'

import { seconds } from '../lib/durations.js'
import { withTimeout } from '../lib/timing.js'
import { requireWorkerPackages } from '../passwords/workers.js'
import type { Database } from '../platform/database/database.js'
import { listeningError } from '../platform/listening.js'
import type { Log } from '../platform/log.js'

import type { Config } from '../settings/config.js'
import { prepareDatabase } from './prepare-database.js'

type Shutdown = Pick<Config, 'drainDelay' | 'ownDatabase'>

/** How long requests may finish. With a database of its own all of it is over within ten seconds, after which Docker kills. */
const drainTimeout = ({ ownDatabase }: Shutdown) => (ownDatabase ? 4 : 10) * seconds
const closeTimeout = ({ ownDatabase }: Shutdown) => (ownDatabase ? 3.5 : 5) * seconds

/**
 * The longest time that a shutdown takes: `/health/ready` answers 503 for `drainDelay`, idle connections stay open for another
 * `drainDelay`, requests finish, the platform closes. A supervisor must wait longer before it kills the process. A test checks that
 * the files in `deploy` do.
 */
export const shutdownBudget = (config: Shutdown) => 2 * config.drainDelay + drainTimeout(config) + closeTimeout(config)

/** A duration for the log: `5 s`. */
export const secondsText = (milliseconds: number) => `${milliseconds / seconds} s`

/**
 * When the port opens although the stores are still awaited, so that a supervisor can ask `/health/live`. Proxies take an open port for a
 * working instance, so a usual start, which is faster, opens it when the instance works.
 */
const portDelay = 1 * seconds
/** How long a start is expected to take. Requests that come before that wait for its end; those that come after it are answered 503. */
const startTimeout = 5 * seconds

export type OpenedApp = {
  config: Config
  log: Log
  platform: { startCache(migrated: Promise<boolean>): Promise<void>; close(): Promise<void> }
  /** The database itself. Routes have a wrapper that refuses statements until `status.isPrepared`. */
  database: Database
  /** Writes the rows that a development database starts with. */
  seed(): Promise<void>
  /** Reads from the database what requests need, before the first request is answered. */
  load(): Promise<void>
  background: { start(): void; stop(): Promise<unknown> }
  server: Server
  drainState: DrainState
  drain(options: { idleDelay: number; limit: number }): Promise<void>
  startMetrics(): Promise<{ close(): Promise<void> } | undefined>
  /** `isPrepared`: requests may use the database. `isReady`: the database has its first rows, too. */
  status: {
    isPrepared: boolean
    isReady: boolean
    /** Lets the requests in that wait for the start. */
    admit(): void
    closing: AbortController
    metrics?: { close(): Promise<void> } | undefined
  }
}

/**
 * Waits for the stores, migrates and loads the database, and makes sure that passwords can be checked. Then requests may use the database.
 * At last it writes the first rows and starts the work in the background. If the service is closed in the meantime, the rest is left out.
 */
const prepare = async ({ config, database, log, status, seed, load, background, platform }: OpenedApp) => {
  const { signal } = status.closing
  const migrated = prepareDatabase({ config, database, log, signal, load })
  await Promise.all([migrated, platform.startCache(migrated), requireWorkerPackages()])
  if (signal.aborted) return
  status.isPrepared = true
  status.admit()
  await seed()
  status.isReady = true
  background.start()
}

/** Waits until the signal is aborted; without a signal it never settles. */
const waitForAbort = async (signal: AbortSignal | undefined) => {
  if (!signal) return new Promise<never>(() => undefined)
  if (!signal.aborted) await once(signal, 'abort')
  return undefined
}

export type ServeOptions = {
  /** Called when the database turns out to be unusable after the port was opened. */
  onFatal: (error: unknown) => void
  /** Aborting it stops a start that is under way: no further port is opened. `closeApp` closes what is open. */
  signal?: AbortSignal
}

/**
 * A hook for all routes but those of the probes: a request that comes while the stores are awaited waits with them, as long as a start may
 * take, so that a proxy which leads it here too early loses nothing. After that it is refused.
 */
export const createStartGate = (isPrepared: () => boolean) => {
  const expectedEnd = performance.now() + startTimeout
  let admit: () => void = () => undefined
  const admitted = new Promise<void>((resolve) => {
    admit = resolve
  })
  const waitForStart = async (request: FastifyRequest, reply: FastifyReply) => {
    if (isPrepared() || request.routeOptions.config.probe) return undefined
    await withTimeout(admitted, Math.max(0, expectedEnd - performance.now()), () => undefined)
    return isPrepared() ? undefined : sendRefusal(reply, refuse('unavailable'))
  }
  return { admit, waitForStart }
}

/** Opens the ports. `prepared` settles when the stores are ready, which may be later. */
export const serveApp = async (
  app: OpenedApp,
  { onFatal, signal, releasePort }: ServeOptions & { releasePort(): Promise<void> },
) => {
  const prepared = prepare(app)
  // `onFatal` reports a failure below. If listening fails before that, the error of listening is reported instead.
  prepared.catch(() => undefined)
  app.status.metrics = await app.startMetrics()
  const settled = Promise.race([prepared, waitForAbort(signal)])
  await withTimeout(settled, portDelay, () => undefined)
  if (!signal?.aborted) {
    const { host, port } = app.config
    // This takes time, so it comes before the release: another program could take a port that is released and not yet listened on.
    await app.server.ready()
    await releasePort()
    const listenTextResolver = (address: string) => {
      const listening = `Server listening at ${address}`
      if (app.status.isPrepared) return listening
      // Programs wait for that line before they send requests, so it comes when these are answered.
      prepared.then(
        () => app.log.info(listening),
        () => undefined,
      )
      return `Waiting for the stores; only /health answers at ${address}`
    }
    await app.server.listen({ host, port, listenTextResolver }).catch((error: unknown) => {
      throw listeningError(error)
    })
    await withTimeout(settled, startTimeout - portDelay, () => undefined)
    prepared.catch(onFatal)
  }
  return { prepared }
}

/** First `/health/ready` answers 503, then the port closes, requests under way finish, and at last the platform closes. */
export const closeApp = async ({ config, server, drainState, drain, background, platform, status }: OpenedApp) => {
  drainState.isDraining = true
  status.closing.abort()
  status.admit()
  if (server.server.listening) {
    // An instance that never worked has no traffic that must go elsewhere first.
    const drainDelay = status.isPrepared ? config.drainDelay : 0
    await wait(drainDelay)
    await drain({ idleDelay: drainDelay, limit: drainTimeout(config) })
  }
  await server.close()
  await background.stop()
  await status.metrics?.close()
  await platform.close()
}
