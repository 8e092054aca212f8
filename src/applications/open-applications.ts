import type { Groups } from '../groups/groups.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Platform } from '../platform/platform.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { Config } from '../settings/config.js'
import { createApplicationErrors } from './application-errors.js'
import { createApplicationSecrets, createApplications } from './applications.js'
import { createUsedApplications } from './used-applications.js'

export type ApplicationsRoom = ReturnType<typeof openApplications>

export const openApplications = (
  config: Config,
  platform: Platform,
  below: SessionsRoom & MessagesRoom & { groups: Groups },
) => ({
  applications: createApplications(platform),
  applicationSecrets: createApplicationSecrets(platform),
  applicationErrors: createApplicationErrors(platform),
  usedApplications: createUsedApplications({ ...platform, lifetimes: config.lifetimes }, below),
})
