import type { Server } from '../../http/server.js'
import type { pagesRoutes } from '../../pages/pages.routes.js'
import type { HttpParts, Platform } from '../../service/http-parts.js'
import type { Nouns } from '../../service/nouns.js'
import { createSignedInUsers } from '../authorize/signed-in-users.js'
import type { OpenidProvider } from '../openid-provider.js'
import { createDeviceApproval } from './openid-device.js'
import { openidDeviceRoutes } from './openid-device.routes.js'

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
