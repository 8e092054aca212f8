import type { Groups } from '../groups/groups.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Platform } from '../platform/platform.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { Config } from '../settings/config.js'
import { createApplicationChanges } from './application-changes.js'
import { createApplicationErrors } from './application-errors.js'
import { createApplicationSecrets, createApplications } from './applications.js'
import { createUsedApplications } from './used-applications.js'

export type ApplicationsRoom = ReturnType<typeof openApplications>

export const openApplications = (
  config: Config,
  platform: Platform,
  below: SessionsRoom & MessagesRoom & { groups: Groups },
) => {
  const { production, publicUrl, cookieDomain, lifetimes } = config
  const opened = {
    applications: createApplications(platform),
    applicationSecrets: createApplicationSecrets(platform),
    applicationErrors: createApplicationErrors(platform),
    usedApplications: createUsedApplications({ ...platform, lifetimes }, below),
  }
  const place = { production, publicUrl, cookieDomain }
  return { ...opened, applicationChanges: createApplicationChanges({ ...platform, ...below, ...opened, ...place }) }
}
