import type { ApplicationsRoom } from '../applications/open-applications.js'
import type { Groups } from '../groups/groups.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Platform } from '../platform/platform.js'
import type { LiveSettingsReader } from '../settings/live-settings.js'
import { createConfigurationFiles } from './apply.js'
import { createChangeBack } from './change-back.js'
import { openKinds } from './kinds.js'
import { createSettingChanges } from './setting-changes.js'

export type ConfigurationRoom = ReturnType<typeof openConfiguration>

/** What operators set: with configuration files, on the page of administrators, and back again. */
export const openConfiguration = (
  { production }: { production: boolean },
  { ungatedDatabase: database, clock }: Platform,
  below: MessagesRoom & ApplicationsRoom & { groups: Groups; liveSettings: LiveSettingsReader },
) => {
  // A file may be applied while the start still keeps requests away from the database.
  const needed = { ...below, database }
  const settingChanges = createSettingChanges(needed)
  // Loaded with the first file, or the first change that is changed back: most services start without either.
  const loadResources = async () => {
    const { createResourceChanges, createResources } = await import('../openid/resources/resources.js')
    return {
      resources: createResources({ database }),
      resourceChanges: createResourceChanges({ ...needed, clock, production }),
    }
  }
  const loadResourceChanges = async () => (await loadResources()).resourceChanges
  const kinds = openKinds({ ...below, loadResourceChanges, settingChanges })
  return {
    settingChanges,
    configurationFiles: createConfigurationFiles({ ...needed, kinds }),
    changeBack: createChangeBack({ ...below, loadResources, settingChanges }),
  }
}
