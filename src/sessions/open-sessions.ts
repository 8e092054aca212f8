import type { Keys } from '../keys/open-keys.js'
import type { Platform } from '../platform/platform.js'
import type { Config } from '../settings/config.js'
import type { LiveSettingsReader } from '../settings/live-settings.js'
import { createAdministrators } from './administrators.js'
import { createBoundSessions } from './bound-sessions.js'
import { createEndedSessions, type FollowApplications } from './ended-sessions.js'
import { createKnownDevices } from './known-devices.js'
import { type ChangeByOldToken, createRotations } from './rotation.js'
import { createSessionLookups } from './session-lookups.js'
import { createSessions } from './sessions.js'
import { createTokens } from './tokens.js'

export type SessionsRoom = ReturnType<typeof openSessions>

export const openSessions = (
  config: Config,
  {
    database,
    ungatedDatabase,
    clock,
    log,
    metrics,
    secrets,
    liveSettings,
  }: Platform & { secrets: readonly string[]; liveSettings: LiveSettingsReader },
  { keysFor, loadedKeys }: Keys,
  changeByOldToken: ChangeByOldToken,
  followApplications: FollowApplications,
) => {
  // A start loads them before the service is ready, so they do not wait for the migrations.
  const endedSessions = createEndedSessions({ database: ungatedDatabase, clock, log, followApplications })
  const tokens = createTokens({
    secrets,
    clock,
    issuer: config.publicUrl,
    keyPairs: loadedKeys,
    hasEnded: endedSessions.refusesToken,
  })
  const { lifetimes, refreshGrace, renewGrace } = config
  const tools = { database, tokens, clock, lifetimes, graces: { refreshGrace, renewGrace }, onEnded: endedSessions.add }
  const sessions = createSessions(tools, () => liveSettings.now().secondFactor === 'required')
  const onRotation = metrics?.countRefresh ?? (() => undefined)
  const rotations = createRotations(tools, { endSession: sessions.end, changeByOldToken, endedSessions, onRotation })
  const { rotate, bindSession } = rotations
  const isOffered = config.boundSessions === 'on'
  return {
    endedSessions,
    tokens,
    sessions,
    ...rotations,
    boundSessions: createBoundSessions({ tools, keys: keysFor('bound sessions'), isOffered, rotate, bindSession }),
    sessionLookups: createSessionLookups({ database, clock, lifetimes }),
    administrators: createAdministrators(database, clock, config),
    knownDevices: createKnownDevices({ keys: keysFor('known device'), clock }),
  }
}
