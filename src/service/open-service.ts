import { createFastLane } from '../access-check/fast-lane.js'
import { createActiveUsers } from '../admin/stats.js'
import { byProvider } from '../contract/providers.js'
import { signInLabels } from '../factors/ways-to-sign-in.js'
import { createIsProxy } from '../http/errors.js'
import { limiterNames } from '../http/limiters.js'
import { createAllowedOrigins } from '../http/origins.js'
import type { SchemaCompilers } from '../http/schema-compilers.js'
import { countRequests, createServer, type Server } from '../http/server.js'
import { type Clock, systemClock } from '../lib/clock.js'
import { createOpenidProvider } from '../openid/openid-door.js'
import { type Assets, loadAssets } from '../pages/assets.js'
import type { Workers } from '../passwords/workers.js'
import { openAsOwner } from '../platform/database/open.js'
import { reservePort } from '../platform/listening.js'
import { createLog, type Log } from '../platform/log.js'
import type { Metrics } from '../platform/metrics/metrics.js'
import { startMetricsServer } from '../platform/metrics/metrics-server.js'
import { createServiceKeys, readServiceKeys } from '../programs/service-keys.js'
import { type Config, type Environment, settingsElsewhere } from '../settings/config.js'
import { createBackground, loadDatabase } from './background.js'
import { openApp, openHttp } from './open-http.js'
import { openPlatform, type StoreTimeouts } from './open-platform.js'
import { openRooms, type RoomPlatform, type Rooms } from './open-rooms.js'
import { freeSpaceOf } from './own-database.js'
import { refuseUntilReady } from './prepare-database.js'
import { registerAllRoutes } from './register-routes.js'
import { closeApp, createStartGate, type OpenedApp, type ServeOptions, serveApp } from './serving.js'

type Watched = Parameters<Metrics['watch']>[0]

/** Metrics have a port of their own. Without METRICS_PORT they are not even loaded. */
const openMetrics = async ({ metricsPort, providers }: Config) => {
  if (metricsPort === undefined) return undefined
  const { createMetrics } = await import('../platform/metrics/metrics.js')
  return createMetrics({ ways: signInLabels(byProvider(providers).map(([id]) => id)), limiters: limiterNames })
}

/** Counts from now on, and returns the function that opens the port of the metrics. */
const prepareMetrics = (config: Config, metrics: Metrics | undefined, watched: Watched, server: Server) => {
  const { metricsHost: host, metricsPort: port } = config
  if (port === undefined || !metrics) return async () => undefined
  metrics.watch(watched)
  countRequests(server, metrics)
  if (config.workers === 1) return () => startMetricsServer({ host, port, metrics })
  // With several processes the supervisor has the port, and asks each process for its metrics.
  metrics.share()
  return async () => undefined
}

/** In a database of our own, the role of the service may only read content, as in a real installation. */
const seedContent = async (
  { ownDatabase, databaseOwnerUrl }: Config,
  { database }: RoomPlatform,
  { content }: Rooms,
) => {
  if (!ownDatabase || databaseOwnerUrl === undefined) return content.seed(database)
  const owner = openAsOwner(databaseOwnerUrl)
  try {
    await content.seed(owner)
  } finally {
    await owner.close()
  }
}

/** Writes the first rows of a development database: the example content, and what SEED_FILE names. */
const seed = async (config: Config, platform: RoomPlatform, rooms: Rooms) => {
  if (config.production) return
  await seedContent(config, platform, rooms)
  if (config.seedFile === undefined) return
  const { applySeedFile } = await import('./seed-file.js')
  await applySeedFile(config.seedFile, platform, rooms, config)
}

/** Applies CONFIGURATION_FILE. What it changes counts here at once, and for other instances within two seconds. */
const applyConfigured = async (
  { configurationFile: path }: Config,
  platform: RoomPlatform,
  rooms: Rooms,
  environment: Environment,
) => {
  if (path === undefined) return
  const { applyConfigurationFile } = await import('../configuration/configuration-file.js')
  const { ungatedDatabase: database, metrics, log } = platform
  const count = metrics?.countAttempt.configurationFile ?? (() => undefined)
  if (await applyConfigurationFile({ ...rooms, database, log, environment, count }, path))
    await rooms.endedSessions.load()
}

type Options = ServeOptions & {
  clock?: Clock
  log?: Log
  /** Threads for passwords that are shared with other services in this process, and stay open. */
  workers?: Workers
  /** The schemas that other services in this process have compiled, shared in the same way. */
  schemaCompilers?: SchemaCompilers
  /** The files of the pages that other services in this process have read, shared in the same way. */
  assets?: Assets
  /** Longer timeouts, for tests on a machine that is busy with other programs. */
  storeTimeouts?: StoreTimeouts
  /** A longer interval, for tests: a clean-up by a clock that a test has moved deletes rows that the test still asks for. */
  housekeepingInterval?: number
  /** The whole environment, for secrets that a configuration file names. */
  environment?: Environment
  /** The settings as they were given. With a database of its own, commands beside the service work with the same settings. */
  givenSettings?: Environment
}

/** Opens the platform and registers every route. No port is open yet, and the database may still be out of reach. */
const openService = async (given: Config, options: Options) => {
  const { clock = systemClock, log: givenLog, workers, storeTimeouts, housekeepingInterval, schemaCompilers } = options
  const log = givenLog ?? createLog({ level: given.logLevel })
  const serviceKeys = createServiceKeys(await readServiceKeys(given.serviceKeysFile), clock)
  const settingsForCommands = options.givenSettings && settingsElsewhere(options.givenSettings, given)
  const context = { config: given, clock, log, sharedWorkers: workers, storeTimeouts, settingsForCommands }
  const opened = await openPlatform(context)
  const { config } = opened
  const gate = createStartGate(() => status.isPrepared)
  const status: OpenedApp['status'] = {
    isPrepared: false,
    isReady: false,
    admit: gate.admit,
    closing: new AbortController(),
  }
  const metrics = await openMetrics(config)
  const ungatedDatabase = opened.database
  const gatedDatabase = refuseUntilReady(ungatedDatabase, () => status.isPrepared)
  const platform = {
    ...opened,
    clock,
    log,
    metrics,
    serviceKeys,
    ungatedDatabase,
    database: gatedDatabase,
    leavesEventsToService: false,
  }
  const rooms = openRooms(config, platform)
  const openidProvider = createOpenidProvider(config, platform, rooms)
  const http = openHttp(config, platform, rooms)
  const { production, publicUrl, trustProxy, developmentHosts } = config
  const allowedOrigins = createAllowedOrigins(config.allowedOrigins)
  const { tokens, protectedApplications, resourcesAtHosts, firstUses, hostSessions, boundSessions } = rooms
  const isProxy = createIsProxy(trustProxy)
  const forward = { protectedApplications, resourcesAtHosts, firstUses, hostSessions, isProxy, clock }
  const onAnswer = metrics?.countRequest
  const fastLane = createFastLane({ tokens, production, allowedOrigins, forward, boundSessions, onAnswer })
  const serverOptions = { log, production, publicUrl, allowedOrigins, trustProxy, developmentHosts, fastLane }
  const { server, state: drainState, answerUnknown, drain } = createServer({ ...serverOptions, schemaCompilers })
  server.addHook('onRequest', gate.waitForStart)
  server.addHook('onRequest', http.callers.learnKey)
  const activeUsers = createActiveUsers({ database: gatedDatabase, clock })
  const isStarting = () => !status.isReady
  const isDraining = () => drainState.isDraining
  const isReady = () => !isStarting() && !isDraining()
  const watched = { ...platform, ...rooms, openidProvider, activeUsers, isReady, freeSpace: () => freeSpaceOf(config) }
  const startMetrics = prepareMetrics(config, metrics, watched, server)
  const assets = options.assets ?? (await loadAssets())
  const served = { openidProvider, assets, isStarting, isDraining, isClosing: () => drainState.isClosing }
  const { pages, routes } = await registerAllRoutes(server, openApp(config, platform, rooms, http, served))
  answerUnknown(pages.plainPage('not-found'))
  const applyConfiguration = () => applyConfigured(config, platform, rooms, options.environment ?? {})
  const background = createBackground(platform, rooms, openidProvider, housekeepingInterval)
  return {
    config,
    log,
    platform,
    rooms,
    database: ungatedDatabase,
    seed: () => seed(config, platform, rooms),
    load: async () => {
      await loadDatabase(config, platform, rooms)
      await applyConfiguration()
    },
    applyConfiguration,
    background,
    server,
    drainState,
    drain,
    startMetrics,
    status,
    routes,
  }
}

export type App = Awaited<ReturnType<typeof startApp>>

/** Opens and serves. What was opened is closed again when serving fails. */
export const startApp = async (given: Config, options: Options) => {
  const { config: withPort, release } = await reservePort(given)
  try {
    const app = await openService(withPort, options)
    const close = () => closeApp(app)
    const { prepared } = await serveApp(app, { ...options, releasePort: release }).catch(async (error) => {
      await close()
      throw error
    })
    const { config, server, log, platform, rooms, status, routes } = app
    /** Reads the service keys again, without a restart. With a fault in the file the earlier keys stay. */
    const reload = async () => platform.serviceKeys.replace(await readServiceKeys(config.serviceKeysFile))
    const { applyConfiguration } = app
    return {
      config,
      server,
      log,
      platform,
      rooms,
      prepared,
      isReady: () => status.isReady,
      routes,
      reload,
      applyConfiguration,
      close,
    }
  } finally {
    await release()
  }
}
