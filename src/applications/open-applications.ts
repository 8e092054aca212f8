import type { Groups } from '../groups/groups.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Platform } from '../platform/platform.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { Config } from '../settings/config.js'
import { createApplications } from './applications.js'
import { createUsedApplications } from './used-applications.js'

export type ApplicationsRoom = ReturnType<typeof openApplications>

/** What is needed at every start. The OpenID provider and commands open the rest of the room themselves. */
export const openApplications = (
  config: Config,
  platform: Platform,
  below: SessionsRoom & MessagesRoom & { groups: Groups },
) => ({
  applications: createApplications(platform),
  usedApplications: createUsedApplications({ ...platform, lifetimes: config.lifetimes }, below),
})
