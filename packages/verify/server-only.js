// A bundle for browsers finds this in the place of `@latchkey/verify/next`. The name of the module that is missing is the message of the build.
export { createLatchkey } from 'server only - @latchkey/verify/next was imported by a component with "use client"'
