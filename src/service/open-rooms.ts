import { createFirstUses } from '../access-check/first-uses.js'
import { createHostSessions } from '../access-check/host-sessions.js'
import { openAccountChanges } from '../account-changes/open-account-changes.js'
import { openAccounts } from '../accounts/open-accounts.js'
import { openApplications } from '../applications/open-applications.js'
import { createProtectedApplications } from '../applications/protected-applications.js'
import { openConfiguration } from '../configuration/open-configuration.js'
import type { ProfileFieldDefinition } from '../contract/profile-fields.js'
import type { ProviderId } from '../contract/providers.js'
import { openFactors } from '../factors/open-factors.js'
import { openGroups } from '../groups/groups.js'
import { openKeys } from '../keys/open-keys.js'
import type { Design } from '../lib/design.js'
import { openMessages } from '../messages/open-messages.js'
import type { Receiver } from '../messages/webhooks.js'
import { createLogoutNotices } from '../openid/logout/logout-notices.js'
import { createResourcesAtHosts } from '../openid/resources/resources-at-hosts.js'
import { createContent } from '../pages/content.js'
import type { LeakedList } from '../passwords/leaked-list.js'
import { createPasswords } from '../passwords/passwords.js'
import type { Workers } from '../passwords/workers.js'
import { openPersonalTokens } from '../personal-tokens/open-personal-tokens.js'
import { createClockWatch } from '../platform/database/clock-watch.js'
import type { Mailer } from '../platform/mail/mail.js'
import type { Outbound } from '../platform/outbound/outbound.js'
import type { Platform } from '../platform/platform.js'
import { openConfiguredProviders, openProviders, type ProviderSettings } from '../providers/open-providers.js'
import { openRegistration } from '../registration/open-registration.js'
import { openSessions } from '../sessions/open-sessions.js'
import type { ChangeByOldToken } from '../sessions/rotation.js'
import type { Config } from '../settings/config.js'
import { createLiveSettings } from '../settings/live-settings.js'
import { openSignIn } from '../sign-in/open-sign-in.js'
import { openUsers } from '../users/open-users.js'
import type { OwnWords } from './operator-files.js'

/** What the rooms are opened with. The service opens all of it (`open-platform`), and commands open less (`commands/open-for-commands`). */
export type RoomPlatform = Platform & {
  secrets: readonly string[]
  sealingSecrets: readonly string[]
  workers: Workers
  leakedPasswords: Pick<LeakedList, 'has'> | undefined
  mailer: Mailer
  outbound: Outbound
  providerSettings: ProviderSettings
  webhookReceiver: Receiver | undefined
  design: Design
  ownWords: OwnWords
  fieldDefinitions: readonly ProfileFieldDefinition[]
  /** True for commands. Their own log is not collected, so a running service logs their events. */
  leavesEventsToService: boolean
}

export type Rooms = ReturnType<typeof openRooms>

/**
 * The table of contents: opens the rooms, each with what the rooms below it give. The service and every command call this, so nothing here
 * knows requests.
 */
export const openRooms = (config: Config, given: RoomPlatform) => {
  const liveSettings = createLiveSettings(config, given.ungatedDatabase)
  const platform = { ...given, liveSettings }
  const { database, clock, log, workers, leakedPasswords: leaked } = platform
  // A session of which an old token was used ends as a change of its account, in a room above that of sessions.
  const changeByOldToken: ChangeByOldToken = (context, end) => accountChanges.changeByOldToken(context, end)

  const words = [config.productName, ...config.passwordWords]
  const passwords = createPasswords({ workers, cost: config.bcryptCost, words, leaked })
  const keys = openKeys(config, platform)
  const users = openUsers(config, platform, keys)
  const protectedApplications = createProtectedApplications({ ...config, database: platform.ungatedDatabase })
  const resourcesAtHosts = createResourcesAtHosts({ database: platform.ungatedDatabase })
  const followChanges = async (changes: number) => {
    await protectedApplications.follow(changes)
    await resourcesAtHosts.follow(changes)
    await liveSettings.follow(changes)
  }
  const sessions = openSessions(config, platform, keys, changeByOldToken, followChanges)
  const messages = openMessages(config, platform, keys, { ...users, ...sessions })
  const groups = openGroups(platform, { ...sessions, ...messages })
  const upToGroups = { ...keys, passwords, ...users, ...sessions, ...messages, groups }
  const applications = openApplications(config, platform, upToGroups)
  const accountChanges = openAccountChanges(platform, { ...upToGroups, ...applications })
  const ofTokens = openPersonalTokens(config, platform, { ...sessions, ...accountChanges, protectedApplications })
  const configuredProviders = openConfiguredProviders(platform)
  const upToChanges = { ...upToGroups, ...applications, ...accountChanges, ...ofTokens, ...configuredProviders }
  const providerIds = Object.keys(configuredProviders.providers) as ProviderId[]
  const factors = openFactors(config, platform, { ...upToChanges, providerIds })
  const registration = openRegistration(config, platform, upToChanges)
  const upToRegistration = { ...upToChanges, ...factors, ...registration }
  const providers = openProviders(config, platform, upToRegistration)
  const signIn = openSignIn(platform, { ...upToRegistration, ...providers })
  const upToSignIn = { ...upToRegistration, ...providers, ...signIn }
  return {
    ...upToSignIn,
    ...openAccounts(config, platform, upToSignIn),
    logoutNotices: createLogoutNotices({ database, clock }),
    protectedApplications,
    resourcesAtHosts,
    firstUses: createFirstUses({ database, clock, events: messages.events, log }),
    liveSettings,
    hostSessions: createHostSessions({
      ...upToSignIn,
      database,
      clock,
      lifetimes: config.lifetimes,
      publicUrl: config.publicUrl,
      keys: keys.keysFor('hosts of applications'),
    }),
    content: createContent({ database, clock }),
    ...openConfiguration(config, platform, { ...upToSignIn, liveSettings }),
    clockWatch: createClockWatch({ database, clock, log }),
  }
}
