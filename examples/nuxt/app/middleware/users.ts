/** The server sends pages for users: also when a link leads to them, which Nuxt would follow in the browser. */
export default defineNuxtRouteMiddleware((to) => {
  if (import.meta.server) return useUser().value ? undefined : abortNavigation({ statusCode: 401 })
  return useNuxtApp().isHydrating ? undefined : navigateTo(to.fullPath, { external: true })
})
