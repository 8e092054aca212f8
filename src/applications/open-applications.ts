import type { Groups } from '../groups/groups.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Platform } from '../platform/platform.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { Config } from '../settings/config.js'
import { createApplications } from './applications.js'
import { createUsedApplications } from './used-applications.js'

export type ApplicationsRoom = ReturnType<typeof openApplications>

export const openApplications = (
  config: Config,
  { database, clock }: Platform,
  below: SessionsRoom & MessagesRoom & { groups: Groups },
) => ({
  applications: createApplications({ database }),
  usedApplications: createUsedApplications({ ...config, ...below, database, clock }),
})
