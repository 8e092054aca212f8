import { basename } from 'node:path'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { NewApplicationRefusal } from '../applications/application-changes.js'
import { changeFrom, newApplicationFrom, shapeFault } from '../applications/application-shape.js'
import type { Application } from '../applications/applications.js'
import { iconFault, iconFaults } from '../applications/icons.js'
import { generalSettings, programs } from '../applications/program-settings.js'
import { type ProxyName, proxyNames, proxySettings } from '../applications/proxy-lines.js'
import { settingVersion } from '../configuration/setting-changes.js'
import {
  AdminAddedApplication,
  AdminAddedSecret,
  AdminApplication,
  AdminApplicationDeletion,
  AdminApplicationLines,
  AdminApplicationPatch,
  AdminApplications,
  AdminChangeBack,
  AdminChangedBack,
  AdminEndAccess,
  AdminNewApplication,
  type AdminProgram,
  AdminSetting,
  AdminSettingChange,
  AdminSettings,
  adminPath,
  type ShownVariable,
  shownVariables,
} from '../contract/admin/admin-bodies.js'
import {
  type ApplicationShape,
  isLiveSetting,
  type KnownProgram,
  settingProperties,
} from '../contract/configuration.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { Id, NoContent } from '../contract/schemas.js'
import type { Server } from '../http/server.js'
import type { ResourceRefusal } from '../openid/resources/resource.js'
import type { App } from '../service/open-http.js'
import type { DescribedSetting } from '../settings/live-settings.js'
import { type AdminGuard, adminRoute } from './admin-guard.js'
import { applicationBody, programBody } from './bodies.js'
import {
  asAnswer,
  codesOfTheirOwn,
  expectedVersion,
  invalid,
  resourceAnswer,
  tag,
  takesAway,
} from './configuration-answers.js'
import type { AdminServices } from './open-admin.js'

type Needed = App & AdminServices

/** Room for an icon in base64. */
const bodyLimit = 96 * 1024

const applicationId = Type.Object({ id: Type.String({ maxLength: 200 }) })

/** The bytes of an icon in base64. */
const iconFrom = (text: string | null | undefined) => {
  if (text === undefined || text === null) return text
  const png = Buffer.from(text, 'base64')
  const fault = iconFault(png)
  return fault ? invalid('bad_icon', `The icon ${iconFaults[fault]}`) : png
}

const describer = (app: Needed) => {
  const { applications, applicationChanges, applicationErrors, applicationSecrets, usedApplications } = app
  /** `iconVersion` is read once for a list. */
  const describe = async (application: Application, iconVersion: string | undefined): Promise<AdminApplication> =>
    applicationBody(application, {
      version: await applicationChanges.versionOf(application),
      iconVersion,
      secrets: await applicationSecrets.list(application.id),
      ...(await applicationErrors.list(application.id)),
    })
  return {
    one: async (application: Application) =>
      describe(application, (await applications.iconVersions()).get(application.id)),
    all: async () => {
      const versions = await applications.iconVersions()
      const sessions = await usedApplications.countSessions()
      const described: AdminApplication[] = []
      const programs: AdminProgram[] = []
      for (const application of await applications.list())
        if (application.kind === 'document') programs.push(programBody(application, sessions.get(application.id) ?? 0))
        else described.push(await describe(application, versions.get(application.id)))
      return { applications: described, programs }
    },
  }
}

const checkOf = (name: string) => `latchkey application check ${JSON.stringify(name)}`

/** What goes into the settings of the program, and of the proxy in front of it. */
const textsToPaste = (
  { id, name, home, redirectAddresses, proxyOrigin }: Application,
  {
    secret,
    issuer,
    program,
    proxy,
  }: {
    secret: string | undefined
    issuer: string
    program: KnownProgram | undefined
    proxy: ProxyName | undefined
  },
) => [
  ...(redirectAddresses.length > 0 ? [generalSettings(id, secret, issuer)] : []),
  ...(program ? [programs[program].settings({ id, secret: secret ?? '', issuer, name, home })] : []),
  ...(proxy && proxyOrigin !== undefined ? [proxySettings(proxy, proxyOrigin, issuer, checkOf(name))] : []),
]

/** The same for an application that is there. Its secrets were shown once. */
const linesOf = (
  { id, name, kind, redirectAddresses, proxyOrigin }: Application,
  issuer: string,
): AdminApplicationLines['lines'] => [
  ...(redirectAddresses.length > 0
    ? [{ for: 'program' as const, text: generalSettings(id, kind === 'web' ? '…' : undefined, issuer) }]
    : []),
  ...(proxyOrigin === undefined ? [] : proxyNames).map((proxy) => ({
    for: proxy,
    text: proxySettings(proxy, proxyOrigin ?? '', issuer, checkOf(name)),
  })),
]

const readAndAddRoutes = (server: Server, app: Needed, adminGuard: AdminGuard) => {
  const { applications, applicationChanges, issuer } = app
  const describe = describer(app)

  adminRoute(server, `GET ${adminPath}/applications`, {
    guard: adminGuard.read,
    tag,
    summary: 'Applications with their last errors',
    refuses: [],
    answers: { 200: AdminApplications },
    handle: describe.all,
  })

  adminRoute(server, `GET ${adminPath}/applications/:id/lines`, {
    guard: adminGuard.read,
    tag,
    summary: 'What goes into the settings of an application, and of each proxy, without a secret',
    params: applicationId,
    refuses: [],
    answers: { 200: AdminApplicationLines },
    handle: async ({ params: { id } }) => {
      const application = await applications.find(id)
      return application ? { lines: linesOf(application, issuer) } : refuse('not_found')
    },
  })

  adminRoute(server, `POST ${adminPath}/applications`, {
    guard: adminGuard.changeConfiguration,
    tag,
    summary: 'Add an application; mails all administrators',
    body: AdminNewApplication,
    bodyLimit,
    refuses: ['applications_off', 'bad_request', 'invalid_configuration', ...codesOfTheirOwn],
    answers: { 201: AdminAddedApplication },
    handle: async ({ body: { name, reason, icon, proxyProgram: proxy, ...given }, request }) => {
      const shape = given as ApplicationShape
      const fault = shapeFault(shape)
      if (fault !== undefined) return invalid('bad_program', fault)
      const png = iconFrom(icon)
      if (isRefused(png)) return png
      const newApplication = newApplicationFrom(name, shape)
      const client = adminGuard.actingClient(request, reason)
      const added = await applicationChanges.add(newApplication, client, { id: shape.id }, png)
      if (isRefused(added))
        return added.refused === 'too_many_secrets' ? invalid(added.refused, 'Too many secrets') : asAnswer(added)
      const { application, secret } = added
      return {
        application: await describe.one(application),
        secret: secret ?? null,
        paste: textsToPaste(application, { secret, issuer, program: shape.for, proxy }),
      }
    },
  })
}

const changeRoutes = (server: Server, app: Needed, adminGuard: AdminGuard) => {
  const { applications, applicationChanges, config } = app
  const describe = describer(app)

  adminRoute(server, `PATCH ${adminPath}/applications/:id`, {
    guard: adminGuard.changeAccess,
    tag,
    summary: 'Change an application; mails all administrators. Needs If-Match',
    params: applicationId,
    body: AdminApplicationPatch,
    bodyLimit,
    refuses: [
      'bad_request',
      'reason_required',
      'applications_off',
      'invalid_configuration',
      'set_by_file',
      'changed_meanwhile',
      ...codesOfTheirOwn,
    ],
    answers: { 200: AdminApplication },
    /** Users who may not use the application any more lose their access at once. */
    handle: async ({ params: { id }, body: { reason, icon, endAccess: endsAccess = false, ...patch }, request }) => {
      const isAccessOnly = Object.keys(patch).every((name) => name === 'allow') && icon === undefined && !endsAccess
      if (config.adminApplications === 'off' && !isAccessOnly) return refuse('applications_off')
      const version = expectedVersion(request)
      if (isRefused(version)) return version
      const png = iconFrom(icon)
      if (isRefused(png)) return png
      const before = await applications.find(id)
      if (!before) return refuse('not_found')
      const change = changeFrom(patch)
      if ((endsAccess || takesAway(before, change)) && reason === undefined) return refuse('reason_required')
      const client = adminGuard.actingClient(request, reason)
      const options = { expectedVersion: version, endsAccess, ...(png !== undefined && { icon: png }) }
      const changed = await applicationChanges.change(id, change, client, options)
      if (!isRefused(changed)) return describe.one(changed.application)
      if (changed.refused === 'no_application') return refuse('not_found')
      if (changed.refused === 'set_by_file' || changed.refused === 'changed_meanwhile') return changed
      return asAnswer(changed)
    },
  })

  adminRoute(server, `DELETE ${adminPath}/applications/:id`, {
    guard: adminGuard.changeConfiguration,
    tag,
    summary: 'Delete an application with its sessions and tokens; mails all administrators. Needs If-Match',
    params: applicationId,
    body: AdminApplicationDeletion,
    refuses: ['bad_request', 'applications_off', 'set_by_file', 'changed_meanwhile'],
    answers: { 204: NoContent },
    handle: async ({ params: { id }, body: { name }, request }) => {
      const version = expectedVersion(request)
      if (isRefused(version)) return version
      const application = await applications.find(id)
      if (!application) return refuse('not_found')
      if (application.name !== name)
        return refuse('bad_request', { message: 'This is not the name of the application. Nothing was deleted.' })
      const client = adminGuard.actingClient(request)
      const deleted = await applicationChanges.delete(id, client, { evenIfUsed: true, expectedVersion: version })
      if (!isRefused(deleted)) return undefined
      return deleted.refused === 'set_by_file' || deleted.refused === 'changed_meanwhile'
        ? deleted
        : refuse('not_found')
    },
  })
}

/** Also for programs of documents, of which nothing else can be changed. */
const endAccessRoute = (server: Server, { applicationChanges }: Needed, adminGuard: AdminGuard) => {
  adminRoute(server, `POST ${adminPath}/applications/:id/end-access`, {
    guard: adminGuard.changeAccess,
    tag,
    summary: 'End all tokens and sessions of an application, or of a program that came with a document',
    params: applicationId,
    body: AdminEndAccess,
    refuses: ['bad_request'],
    answers: { 204: NoContent },
    handle: async ({ params: { id }, body: { reason }, request }) => {
      const ended = await applicationChanges.endAccess(id, adminGuard.actingClient(request, reason))
      return isRefused(ended) ? refuse('not_found') : undefined
    },
  })
}

const secretsRoutes = (server: Server, { applications, applicationChanges }: Needed, adminGuard: AdminGuard) => {
  adminRoute(server, `POST ${adminPath}/applications/:id/secrets`, {
    guard: adminGuard.changeConfiguration,
    tag,
    summary: 'Add a second secret to an application; mails all administrators. Needs If-Match',
    params: applicationId,
    refuses: [
      'bad_request',
      'applications_off',
      'has_no_secret',
      'too_many_secrets',
      'set_by_file',
      'changed_meanwhile',
    ],
    answers: { 201: AdminAddedSecret },
    handle: async ({ params: { id }, request }) => {
      const version = expectedVersion(request)
      if (isRefused(version)) return version
      const options = { expectedVersion: version }
      const added = await applicationChanges.addSecret(id, adminGuard.actingClient(request), options)
      const application = await applications.find(id)
      if (!application || (isRefused(added) && added.refused === 'no_application')) return refuse('not_found')
      return isRefused(added) ? added : { ...added, version: await applicationChanges.versionOf(application) }
    },
  })

  adminRoute(server, `DELETE ${adminPath}/applications/:id/secrets/:n`, {
    guard: adminGuard.changeConfiguration,
    tag,
    summary: 'Remove a secret of an application; mails all administrators. Needs If-Match',
    params: Type.Object({ ...applicationId.properties, n: Type.String({ maxLength: 64 }) }),
    refuses: ['bad_request', 'applications_off', 'last_secret', 'set_by_file', 'changed_meanwhile'],
    answers: { 204: NoContent },
    handle: async ({ params: { id, n }, request }) => {
      const version = expectedVersion(request)
      if (isRefused(version)) return version
      const options = { expectedVersion: version }
      const removed = await applicationChanges.removeSecret(id, n, adminGuard.actingClient(request), options)
      if (!isRefused(removed)) return undefined
      const isMissing = removed.refused === 'no_application' || removed.refused === 'no_secret'
      return isMissing ? refuse('not_found') : removed
    },
  })
}

const settingBody = (setting: DescribedSetting): AdminSetting => {
  const { variable, schema } = settingProperties[setting.name]
  const choices = 'enum' in schema && Array.isArray(schema.enum) ? schema.enum.map(String) : []
  return { ...setting, variable, choices, version: settingVersion(setting) }
}

/** Where a file is on the machine of the operator is nobody's business here. */
const variablesOf = (config: Needed['config']): Static<typeof AdminSettings>['variables'] => {
  const values: Record<ShownVariable, string | undefined> = {
    PRODUCT_NAME: config.productName,
    ACCENT_COLOR: config.accentColor,
    PRODUCT_LOGO_URL: config.productLogoUrl,
    THEME_FILE: config.themeFile && basename(config.themeFile),
    WORDS_FILE: config.wordsFile && basename(config.wordsFile),
    PROFILE_FIELDS_FILE: config.profileFieldsFile && basename(config.profileFieldsFile),
    TERMS_URL: config.termsUrl,
    TERMS_VERSION: config.termsVersion,
    PRIVACY_URL: config.privacyUrl,
    IMPRINT_URL: config.imprintUrl,
    SUPPORT_URL: config.supportUrl,
  }
  return shownVariables.map((name) => ({ name, value: values[name] ?? null }))
}

const settingName = Type.Object({ name: Type.String({ maxLength: 64 }) })

const settingsRoutes = (server: Server, app: Needed, adminGuard: AdminGuard) => {
  const { liveSettings, settingChanges, config } = app

  adminRoute(server, `GET ${adminPath}/settings`, {
    guard: adminGuard.read,
    tag,
    summary: 'The settings that can change while the service runs, and who has set each',
    refuses: [],
    answers: { 200: AdminSettings },
    handle: async () => ({
      settings: (await liveSettings.describe()).map(settingBody),
      applicationsCanChange: config.adminApplications === 'on',
      variables: variablesOf(config),
    }),
  })

  const changeOf = (request: FastifyRequest, version: string, reason?: string) => ({
    origin: adminGuard.actingClient(request, reason),
    by: adminGuard.administratorOf(request).username,
    expectedVersion: version,
  })

  adminRoute(server, `PUT ${adminPath}/settings/:name`, {
    guard: adminGuard.changeConfiguration,
    tag,
    summary: 'Change a setting; mails all administrators. Needs If-Match',
    params: settingName,
    body: AdminSettingChange,
    refuses: [
      'bad_request',
      'applications_off',
      'invalid_configuration',
      'set_by_file',
      'set_by_environment',
      'changed_meanwhile',
    ],
    answers: { 200: AdminSetting },
    handle: async ({ params: { name }, body: { value, reason }, request }) => {
      if (!isLiveSetting(name)) return refuse('not_found')
      const version = expectedVersion(request)
      if (isRefused(version)) return version
      const changed = await settingChanges.write(name, value, changeOf(request, version, reason))
      if (!isRefused(changed)) return settingBody(changed)
      if (changed.refused !== 'invalid_configuration') return changed
      return invalid('bad_value', `${name} must be ${settingProperties[name].must}`)
    },
  })

  adminRoute(server, `DELETE ${adminPath}/settings/:name`, {
    guard: adminGuard.changeConfiguration,
    tag,
    summary: 'Change a setting back to its default; mails all administrators. Needs If-Match',
    params: settingName,
    refuses: ['bad_request', 'applications_off', 'set_by_file', 'set_by_environment', 'changed_meanwhile'],
    answers: { 200: AdminSetting },
    handle: async ({ params: { name }, request }) => {
      if (!isLiveSetting(name)) return refuse('not_found')
      const version = expectedVersion(request)
      if (isRefused(version)) return version
      const changed = await settingChanges.remove(name, changeOf(request, version))
      return isRefused(changed) ? changed : settingBody(changed)
    },
  })
}

type ChangedBack = Awaited<ReturnType<Needed['changeBack']>>
type ChangeBackRefusal = Extract<ChangedBack, { refused: string }>
/** `bad_name` is a rule of both. */
type OnlyOfResources = Exclude<ResourceRefusal, { refused: 'bad_name' }>
type OtherRefusal = Exclude<ChangeBackRefusal, NewApplicationRefusal | OnlyOfResources>

/** The refusals that are answered as they are. Others mean that there is nothing to change back any more. */
const answeredAsIs = {
  changed_meanwhile: true,
  last_secret: true,
  not_changed_back: true,
  resource_taken: true,
  set_by_environment: true,
  set_by_file: true,
  application_in_use: false,
  no_application: false,
  no_resource: false,
  no_secret: false,
  too_many_secrets: false,
  invalid_configuration: false,
} as const satisfies Record<OtherRefusal['refused'], boolean>
type AsIs = {
  [Code in keyof typeof answeredAsIs]: (typeof answeredAsIs)[Code] extends true ? Code : never
}[keyof typeof answeredAsIs]

const rulesOfResources = { bad_resource: true, bad_scope: true, too_many_scopes: true } as const satisfies Record<
  OnlyOfResources['refused'],
  true
>

const isOfResources = (refusal: ChangeBackRefusal): refusal is OnlyOfResources =>
  Object.hasOwn(rulesOfResources, refusal.refused)

const isRuleRefusal = (refusal: ChangeBackRefusal): refusal is Extract<ChangeBackRefusal, NewApplicationRefusal> =>
  !Object.hasOwn(answeredAsIs, refusal.refused)

const isAsIs = (code: OtherRefusal['refused']): code is AsIs => answeredAsIs[code]

const changeBackRefusal = ({ refused }: OtherRefusal) => refuse(isAsIs(refused) ? refused : 'not_changed_back')

const changeBackRoute = (server: Server, { changeBack, events }: Needed, adminGuard: AdminGuard) => {
  adminRoute(server, `POST ${adminPath}/events/:id/change-back`, {
    guard: adminGuard.changeConfiguration,
    tag,
    summary: 'Change back what an event is about, unless it was changed since; mails all administrators',
    params: Type.Object({ id: Id }),
    body: AdminChangeBack,
    refuses: [
      'bad_request',
      'applications_off',
      'invalid_configuration',
      'not_changed_back',
      'last_secret',
      'resource_taken',
      'set_by_file',
      'set_by_environment',
      'changed_meanwhile',
      ...codesOfTheirOwn,
    ],
    answers: { 200: AdminChangedBack },
    handle: async ({ params: { id }, body: { endAccess: endsAccess = false, reason }, request }) => {
      const event = await events.find(id)
      if (!event) return refuse('not_found')
      const { username: by } = adminGuard.administratorOf(request)
      const changed = await changeBack(event, { origin: adminGuard.actingClient(request, reason), by, endsAccess })
      if (!isRefused(changed)) return { event: id, secret: changed.secret ?? null }
      if (isOfResources(changed)) return resourceAnswer(changed)
      return isRuleRefusal(changed) ? asAnswer(changed) : changeBackRefusal(changed)
    },
  })
}

/** Administrators change applications and settings, each with a recent second factor, an event and a mail to all of them. */
export const adminConfigurationRoutes = (server: Server, app: Needed, adminGuard: AdminGuard) => {
  readAndAddRoutes(server, app, adminGuard)
  changeRoutes(server, app, adminGuard)
  endAccessRoute(server, app, adminGuard)
  secretsRoutes(server, app, adminGuard)
  settingsRoutes(server, app, adminGuard)
  changeBackRoute(server, app, adminGuard)
}
