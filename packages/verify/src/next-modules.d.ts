// The parts of Next that `next.ts` uses. Next itself is not installed in this repository, because it is larger than everything else
// together.
declare module 'next/headers.js' {
  export const headers: () => Promise<{ get(name: string): string | null }>
  export const cookies: () => Promise<{ set(name: string, value: string, attributes: object): unknown }>
}
declare module 'next/navigation' {
  export const redirect: (address: string) => never
}
declare module 'next/server.js' {
  export const NextResponse: { next(options: { request: { headers: Headers } }): Response }
}
