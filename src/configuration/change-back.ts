import { isDeepStrictEqual } from 'node:util'
import type { ApplicationChanges } from '../applications/application-changes.js'
import {
  type ApplicationPatch,
  changeFrom,
  fullShapeOf,
  newApplicationFrom,
  shapeOf,
} from '../applications/application-shape.js'
import type { Applications } from '../applications/applications.js'
import { type ApplicationShape, type EventDetails, isLiveSetting } from '../contract/configuration.js'
import { isRefused, refuse } from '../contract/outcome.js'
import {
  type RecordedResource,
  recordedResource,
  recordedValues,
  resourceChangeFrom,
  resourceFrom,
  shapeFromRecorded,
} from '../openid/resources/resource.js'
import type { ResourceChanges, Resources } from '../openid/resources/resources.js'
import type { LiveSettingsReader } from '../settings/live-settings.js'
import { type SettingChange, type SettingChanges, settingVersion } from './setting-changes.js'

type Needed = {
  applications: Applications
  applicationChanges: ApplicationChanges
  loadResources: () => Promise<{ resources: Resources; resourceChanges: ResourceChanges }>
  settingChanges: SettingChanges
  liveSettings: LiveSettingsReader
}

/** An event, as far as changing it back needs it. */
type ChangeEvent = { kind: string; details: EventDetails | null }

/** `endsAccess`: also ends all tokens and sessions of the application or the resource. */
type Wish = Omit<SettingChange, 'expectedVersion'> & { endsAccess: boolean }

const hasKeys = (values: object | undefined) => values !== undefined && Object.keys(values).length > 0

/** Whether such an event is about something that could be changed back. Whether it still can, shows when it is tried. */
export const canChangeBack = (kind: string, { before, after, secret }: EventDetails) =>
  secret !== undefined ||
  (kind.endsWith('_changed') && hasKeys(before) && hasKeys(after)) ||
  (kind.endsWith('_deleted') && before !== undefined) ||
  (kind.endsWith('_added') && after !== undefined)

/** Whether a thing still has what the event has given it. */
const isStillAs = (now: Readonly<Record<string, unknown>>, after: object) =>
  Object.entries(after).every(([name, value]) => isDeepStrictEqual(now[name], value))

const changeApplicationBack = async (
  { applications, applicationChanges }: Needed,
  { kind, details }: { kind: string; details: EventDetails & { id: string } },
  { origin, endsAccess }: Wish,
) => {
  const { id, name, before, after = {}, secret } = details
  if (kind === 'application_deleted') {
    const shape = before as ApplicationShape
    return applicationChanges.add(newApplicationFrom(name, shape), origin, { id })
  }
  const application = await applications.find(id)
  if (!application) return refuse('changed_meanwhile')
  // What is compared here is what is changed below, or the version is another one.
  const options = { expectedVersion: await applicationChanges.versionOf(application), endsAccess }
  if (secret !== undefined) return applicationChanges.removeSecret(id, secret, origin, options)
  const isUnchanged =
    kind === 'application_added'
      ? isDeepStrictEqual(shapeOf(application), after)
      : isStillAs({ ...fullShapeOf(application), name: application.name }, after)
  if (!isUnchanged) return refuse('changed_meanwhile')
  return kind === 'application_added'
    ? applicationChanges.delete(id, origin, { ...options, evenIfUsed: true })
    : applicationChanges.change(id, changeFrom(before as ApplicationPatch), origin, options)
}

const changeResourceBack = async (
  { loadResources }: Needed,
  { kind, details }: { kind: string; details: EventDetails & { id: string } },
  { origin, endsAccess }: Wish,
) => {
  const { resources, resourceChanges } = await loadResources()
  const { id, name, before, after = {} } = details
  if (kind === 'resource_deleted') {
    const shape = shapeFromRecorded(before as RecordedResource)
    return resourceChanges.add(resourceFrom(name, shape), origin, { id })
  }
  const resource = await resources.find(id)
  if (!resource) return refuse('changed_meanwhile')
  // What is compared here is what is changed below, or the version is another one.
  const options = { expectedVersion: resourceChanges.versionOf(resource), endsAccess }
  const isUnchanged =
    kind === 'resource_added'
      ? isDeepStrictEqual(recordedResource(resource), after)
      : isStillAs(recordedValues(resource), after)
  if (!isUnchanged) return refuse('changed_meanwhile')
  return kind === 'resource_added'
    ? resourceChanges.delete(id, origin, options)
    : resourceChanges.change(id, resourceChangeFrom(shapeFromRecorded(before as RecordedResource)), origin, options)
}

const changeSettingBack = async ({ settingChanges, liveSettings }: Needed, details: EventDetails, wish: Wish) => {
  const { name } = details
  const valueIn = (values: { value?: unknown } | undefined) => values?.value
  const [before, after] = [valueIn(details.before), valueIn(details.after)]
  const setting = (await liveSettings.describe()).find((each) => each.name === name)
  if (!setting || !isLiveSetting(name)) return refuse('not_changed_back')
  if (!isDeepStrictEqual(setting.value, after)) return refuse('changed_meanwhile')
  const change = { ...wish, expectedVersion: settingVersion(setting) }
  return isDeepStrictEqual(before, setting.default)
    ? settingChanges.remove(name, change)
    : settingChanges.write(name, before, change)
}

/** Changes back what an event is about, unless something else has changed it since. A secret that comes with it is shown only now. */
export const createChangeBack =
  (needed: Needed) =>
  async ({ kind, details }: ChangeEvent, wish: Wish) => {
    if (!details || !canChangeBack(kind, details)) return refuse('not_changed_back')
    if (details.kind === 'setting') {
      const changed = await changeSettingBack(needed, details, wish)
      return isRefused(changed) ? changed : { secret: undefined }
    }
    const { id } = details
    if (id === undefined) return refuse('not_changed_back')
    if (details.kind === 'resource') {
      const changed = await changeResourceBack(needed, { kind, details: { ...details, id } }, wish)
      return isRefused(changed) ? changed : { secret: undefined }
    }
    if (details.kind !== 'application') return refuse('not_changed_back')
    const changed = await changeApplicationBack(needed, { kind, details: { ...details, id } }, wish)
    if (isRefused(changed)) return changed
    return { secret: changed !== undefined && 'secret' in changed ? changed.secret : undefined }
  }
