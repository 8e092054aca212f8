/** What a request needs, from the gates before its handler. An empty list means that anyone may call. */
export const securityOf = (gated: { byAccessToken: boolean; byCsrfToken: boolean; byServiceKey: boolean }) => {
  const needed = {
    ...(gated.byAccessToken && { accessToken: [] }),
    ...(gated.byCsrfToken && { csrfToken: [] }),
    ...(gated.byServiceKey && { serviceKey: [] }),
  }
  return Object.keys(needed).length === 0 ? [] : [needed]
}

const capitalized = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)

/** `POST /api/auth/verify-email` is `postAuthVerifyEmail`, `GET /api/content/:slug` is `getContentBySlug`. */
export const operationId = ({ method, url }: { method: string | string[]; url: string }) => {
  const [first = ''] = [method].flat()
  const words = url
    .replace(/^\/api\//, '/')
    .replaceAll('/:', '/by-')
    .split(/[/-]/)
    .filter((word) => word !== '')
  return [first.toLowerCase(), ...words.map(capitalized)].join('')
}
