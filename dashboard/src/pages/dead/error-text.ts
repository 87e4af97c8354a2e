/** What was kept of an error, in a line. */
export function errorText(error: unknown): string {
  if (typeof error !== 'object' || error === null) return 'no error was kept'
  const { name, message } = error as { name?: string; message?: string }
  return [name, message].filter(Boolean).join(': ') || 'no message'
}
