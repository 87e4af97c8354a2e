/** Puts the compiled modules of a folder together into a file for each entry of the package, and files that several of them share. */
export function bundle(dist: string): Promise<void>
