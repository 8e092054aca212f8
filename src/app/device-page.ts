import { createSignedInUsers } from '../domain/authorization-requests/signed-in-users.js'
import { createDeviceApproval } from '../flows/openid-device/openid-device.js'
import { openidDeviceRoutes } from '../flows/openid-device/openid-device.routes.js'
import type { pagesRoutes } from '../flows/pages/pages.routes.js'
import type { Server } from '../http/server.js'
import type { HttpParts, Platform } from './http-parts.js'
import type { Nouns } from './nouns.js'
import type { OpenidProvider } from './openid-provider.js'

type Dependencies = Platform & Nouns & HttpParts & { openidProvider: OpenidProvider; secondFactorRequired: boolean }
type Pages = ReturnType<typeof pagesRoutes>

/** Registers the page on which users approve a device that has no browser. */
export const registerDevicePage = (server: Server, dependencies: Dependencies, pages: Pages) =>
  openidDeviceRoutes(server, {
    ...dependencies,
    openDeviceApproval: async () => {
      const openid = await dependencies.openidProvider.open()
      const parts = openid && { ...dependencies, ...openid }
      return parts && createDeviceApproval({ ...parts, signedInUsers: createSignedInUsers(parts) })
    },
    sendPage: pages.protocolPage('device'),
    sendNotFound: pages.plainPage('not-found'),
  })
