export default defineEventHandler(({ context }) => context.user)
